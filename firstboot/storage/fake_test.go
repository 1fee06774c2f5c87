package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"grove/firstboot/facts"
	"grove/firstboot/journal"
	"grove/firstboot/plan"
	"grove/firstboot/plan/act"
	"grove/firstboot/plan/identity"
	"grove/internal/size"
	"grove/internal/spec"
)

var db1 = identity.Identity{Cluster: "demo", Node: "db1"}

// errCut is the loss of power: it goes off as a panic in the middle of whatever is done, and what was written stays.
var errCut = errors.New("the power is gone")

// thing is what lies on a disk, an array or a volume.
type thing struct {
	kind  string // "" blank, junk (written to, no signature yet), pv, fs, or somebody else's: ext4, LUKS, ...
	uuid  string
	fs    string
	whole bool // the file system is made to its end
	seal  bool
	link  bool
	files bool // mongod was here
}

func (t thing) String() string {
	switch t.kind {
	case "":
		return "blank"
	case "fs":
		return fmt.Sprintf("%s %s whole %v seal %v link %v", t.fs, t.uuid, t.whole, t.seal, t.link)
	}
	return strings.TrimSpace(t.kind + " " + t.uuid)
}

// fake is a machine in memory: disks that keep what is written to them, and what stands until the power goes. Writing to a disk that carries somebody's data is
// the one thing that must never be: it panics.
type fake struct {
	rand    *rand.Rand
	disks   []*pretended
	array   thing // what the array carries; kept by its members
	group   bool
	volumes map[string]*thing
	records []journal.Record

	running bool // the array is assembled
	active  bool // the volumes are
	mounts  map[string]string

	steps, cut int // the power goes at this step
	blind      func(*facts.Have)
	stale      string // what comes to light on a new array or volume: another's old file system at the same place
}

type pretended struct {
	name, serial string
	size         size.Size
	member       *facts.Member
	carries      thing
}

func newFake(seed uint64, disks int) *fake {
	f := &fake{rand: rand.New(rand.NewPCG(seed, 1)), volumes: map[string]*thing{}}
	for n := range disks {
		f.disks = append(f.disks, &pretended{serial: fmt.Sprintf("S%d", n), size: 8 * size.GiB})
	}
	f.boot()
	return f
}

// boot is the power coming back. Disks come up in another order each time.
func (f *fake) boot() {
	f.running, f.active, f.mounts, f.cut = false, false, map[string]string{}, 0
	for n, at := range f.rand.Perm(len(f.disks)) {
		f.disks[n].name = "vd" + string(rune('b'+at))
	}
}

// step is where the power may go.
func (f *fake) step() {
	if f.steps++; f.steps == f.cut {
		panic(errCut)
	}
}

// String is all that stays.
func (f *fake) String() string {
	var b strings.Builder
	for _, d := range f.disks {
		fmt.Fprintf(&b, "disk %s %s", d.serial, d.carries)
		if d.member != nil {
			fmt.Fprintf(&b, ", member %s of %d", d.member.Array, d.member.Disks)
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintf(&b, "array %s\ngroup %v\n", f.array, f.group)
	for _, name := range slices.Sorted(maps.Keys(f.volumes)) {
		fmt.Fprintf(&b, "volume %s %s\n", name, f.volumes[name])
	}
	fmt.Fprintf(&b, "running %v, active %v\n", f.running, f.active)
	for _, on := range slices.Sorted(maps.Keys(f.mounts)) {
		fmt.Fprintf(&b, "%s on %s\n", f.at("/dev/"+f.mounts[on]).uuid, on)
	}
	return b.String()
}

// write changes what a device carries, if it may be.
func (f *fake) write(to *thing, what thing) {
	f.step()
	if to.files || !slices.Contains([]string{"", "junk", "pv", "fs"}, to.kind) {
		panic(fmt.Sprintf("BUG: %s was written over %s", what, to))
	}
	*to = what
}

// at finds what a device carries, and who else learns of it.
func (f *fake) at(dev string) *thing {
	name, _ := strings.CutPrefix(dev, "/dev/")
	switch {
	case strings.HasPrefix(name, "md") && f.running:
		return &f.array
	case strings.HasPrefix(f.kernel(dev), "dm-") && f.active:
		if v := f.volumes[strings.TrimPrefix(f.kernel(dev), "dm-")]; v != nil {
			return v
		}
	}
	if at := slices.IndexFunc(f.disks, func(d *pretended) bool { return d.name == name }); at >= 0 {
		return &f.disks[at].carries
	}
	panic("BUG: no such device: " + dev)
}

func (t thing) content(group string) facts.Content {
	c := facts.Content{Sampled: true}
	switch t.kind {
	case "":
	case "junk":
		c.Data = "at 1 MiB"
	case "pv":
		c.Type, c.UUID, c.Group, c.Data = "LVM2_member", t.uuid, group, "at 0"
	case "fs":
		c.Type, c.UUID, c.Data = t.fs, t.uuid, "at 0"
	default:
		c.Type, c.UUID, c.Data = t.kind, "somebody's", "at 0"
	}
	if c.Type != "" {
		c.Signatures = []string{c.Type + " at 0x0"}
	}
	return c
}

// kernel names a device as the kernel does: arrays and volumes by numbers.
func (f *fake) kernel(dev string) string {
	name := strings.TrimPrefix(dev, "/dev/")
	switch {
	case strings.HasPrefix(name, "md"):
		return "md127"
	case strings.HasPrefix(name, "grove/"):
		return "dm-" + strings.TrimPrefix(name, "grove/")
	}
	return name
}

func (f *fake) groupName() string {
	if f.group {
		return identity.Group
	}
	return ""
}

// Look see Machine.
func (f *fake) Look(context.Context, []journal.Record) (facts.Have, error) {
	have := facts.Have{}
	var members []string
	for _, d := range f.disks {
		disk := facts.Disk{Name: d.name, Dev: "/dev/" + d.name, Names: []string{d.name}, Size: d.size, Serial: d.serial, Bus: "virtio", Content: d.carries.content(f.groupName())}
		if d.member != nil {
			m := *d.member
			disk.Content = facts.Content{Type: "linux_raid_member", UUID: m.Array, Member: &m, Signatures: []string{"linux_raid_member at 0x1000"}, Sampled: true}
			members = append(members, d.name)
			if f.running {
				disk.Holders, disk.Held = []string{"md127"}, true
			}
		}
		disk.Class = classOf(disk)
		have.Disks = append(have.Disks, disk)
	}
	slices.SortFunc(have.Disks, func(a, b facts.Disk) int { return strings.Compare(a.Name, b.Name) })
	if f.running {
		have.Arrays = []facts.Array{{Name: "md127", Dev: "/dev/md127", UUID: db1.UUID(identity.Array), Disks: len(members), Working: len(members), Members: members, Content: f.array.content(f.groupName())}}
	}
	if visible := f.running || f.array.kind == ""; f.group && visible {
		have.Groups = []facts.Group{{Name: identity.Group, Tags: db1.Tags()}}
		for _, name := range slices.Sorted(maps.Keys(f.volumes)) {
			v := facts.Volume{Kernel: f.kernel("/dev/grove/" + name), Name: name, Group: identity.Group, Dev: "/dev/grove/" + name, Active: f.active}
			if f.active {
				v.Content = f.volumes[name].content("")
			}
			have.Volumes = append(have.Volumes, v)
		}
	}
	for on, dev := range f.mounts {
		have.Mounts = append(have.Mounts, facts.Mount{Dev: dev, Kernel: f.kernel(dev), Target: on})
	}
	if f.blind != nil {
		f.blind(&have)
	}
	return have, nil
}

func classOf(d facts.Disk) facts.Class {
	switch c := d.Content; {
	case c.Blank():
		return facts.Blank
	case c.Member != nil && c.UUID == db1.UUID(identity.Array), c.UUID == db1.PV(), c.UUID == db1.UUID(identity.Data):
		return facts.OursPartial
	}
	return facts.Foreign
}

// Probe see Machine.
func (f *fake) Probe(_ context.Context, dev string) (facts.Content, error) {
	return f.at(dev).content(f.groupName()), nil
}

// Do see Machine. Each act is done in its true steps, with the power going between any two.
func (f *fake) Do(_ context.Context, a act.Act) error {
	f.step()
	switch a.Kind {
	case act.CreateArray:
		return f.createArray(a)
	case act.Assemble:
		f.running = true
	case act.CreatePV:
		f.write(f.at(a.Dev), thing{kind: "junk"})
		f.write(f.at(a.Dev), thing{kind: "pv", uuid: a.UUID})
	case act.CreateGroup:
		f.step()
		f.group, f.active = true, true
	case act.CreateVolume:
		f.step()
		if f.volumes[a.Label] != nil {
			panic("BUG: volume made twice: " + a.Label)
		}
		f.volumes[a.Label] = &thing{kind: f.stale}
		f.active = true
		f.step()
	case act.Activate:
		f.active = true
	case act.MakeFS:
		f.makeFS(a)
	case act.Mount:
		if t := f.at(a.Dev); !t.whole || t.uuid != a.UUID {
			return fmt.Errorf("%s has no whole file system of this UUID: %s", a.Dev, t)
		}
		f.mounts[a.On] = f.kernel(a.Dev)
	case act.Link:
		f.at("/dev/" + f.mounts["/data"]).link = true
	case act.SealFS:
		f.step()
		f.at("/dev/" + f.mounts["/data"]).seal = true
	case act.CheckSeal:
		if !f.at("/dev/" + f.mounts["/data"]).seal {
			return errors.New("no seal")
		}
	}
	f.step()
	return nil
}

func (f *fake) createArray(a act.Act) error {
	if f.array.files {
		panic("BUG: an array with data was made anew")
	}
	for slot, dev := range a.From {
		to := f.at(dev)
		f.write(to, *to) // may it be written to?
		at := slices.IndexFunc(f.disks, func(d *pretended) bool { return "/dev/"+d.name == dev })
		f.disks[at].member = &facts.Member{Array: a.UUID, Level: "raid" + a.Level, Disks: len(a.From), Role: slot}
	}
	f.step()
	f.running, f.array = true, thing{kind: f.stale}
	return nil
}

// makeFS leaves, as mke2fs and mkfs.xfs do, either no signature at all or one that looks whole, when it is cut off.
func (f *fake) makeFS(a act.Act) {
	to := f.at(a.Dev)
	if to.kind == "fs" && to.whole && (to.seal || to.files) {
		panic("BUG: a file system in use was made anew")
	}
	f.write(to, thing{kind: "junk"})
	if f.rand.IntN(2) == 0 {
		f.write(to, thing{kind: "fs", fs: a.Type, uuid: a.UUID})
	}
	f.write(to, thing{kind: "fs", fs: a.Type, uuid: a.UUID, whole: true})
}

// The journal of the fake: the power may go before and after each record.

func (f *fake) All() []journal.Record { return slices.Clone(f.records) }

func (f *fake) Begin(r journal.Record) (int, error) {
	f.step()
	r.Number = len(f.records) + 1
	f.records = append(f.records, r)
	f.step()
	return r.Number, nil
}

func (f *fake) End(number int) error {
	f.step()
	f.records[number-1].Done = true
	f.step()
	return nil
}

// picks finds all disks, as a recipe with `{bus: virtio, count: N}` does.
func (f *fake) decide(w plan.Want, have facts.Have, records []journal.Record) plan.Plan {
	n := w.Storage.Disks[0].Count
	p := plan.Picks{Disks: have.Disks[:min(n, len(have.Disks))]}
	if len(have.Disks) < n {
		p.Missing = []spec.Selector{{Bus: "virtio", Count: n - len(have.Disks)}}
	}
	return plan.Storage(w, have, p, records)
}
