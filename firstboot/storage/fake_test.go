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

	stick *thing    // a USB stick: blank, somebody's, or with our table
	swap  thing     // on the stick's partition
	file  size.Size // the swap file

	running []string // serial numbers of the members of the array that is assembled
	swaps   []string
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
	f.running, f.swaps, f.active, f.mounts, f.cut = nil, nil, false, map[string]string{}, 0
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
	if f.stick != nil {
		fmt.Fprintf(&b, "stick %s, swap on it %s, swap file %s, in use %v\n", f.stick, f.swap, f.file, f.swaps)
	}
	fmt.Fprintf(&b, "running %v, active %v\n", slices.Sorted(slices.Values(f.running)), f.active)
	for _, on := range slices.Sorted(maps.Keys(f.mounts)) {
		fmt.Fprintf(&b, "%s on %s\n", f.at("/dev/"+f.mounts[on]).uuid, on)
	}
	return b.String()
}

// write changes what a device carries, if it may be.
func (f *fake) write(to *thing, what thing) {
	f.step()
	if to.files || !slices.Contains([]string{"", "junk", "pv", "fs", "swap"}, to.kind) {
		panic(fmt.Sprintf("BUG: %s was written over %s", what, to))
	}
	*to = what
}

// at finds what a device carries, and who else learns of it.
func (f *fake) at(dev string) *thing {
	name, _ := strings.CutPrefix(dev, "/dev/")
	switch {
	case name == "sdu":
		return f.stick
	case name == "sdu1":
		return &f.swap
	case strings.HasPrefix(name, "zram"), strings.HasPrefix(name, "/state"):
		return &thing{kind: "swap", uuid: db1.UUID(identity.Swap("zram"))}
	case strings.HasPrefix(name, "md") && f.running != nil:
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
	case "table":
		c.Table, c.TableID, c.Data = "dos", t.uuid, "at 0"
	case "swap":
		c.Type, c.UUID, c.Data = "swap", t.uuid, "at 0"
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
func (f *fake) Look(_ context.Context, records []journal.Record) (facts.Have, error) {
	have := facts.Have{}
	var members []string
	for _, d := range f.disks {
		disk := facts.Disk{Name: d.name, Dev: "/dev/" + d.name, Names: []string{d.name}, Size: d.size, Serial: d.serial, Bus: "virtio", Content: d.carries.content(f.groupName())}
		if d.member != nil {
			m := *d.member
			disk.Content = facts.Content{Type: "linux_raid_member", UUID: m.Array, Member: &m, Signatures: []string{"linux_raid_member at 0x1000"}, Sampled: true}
			if slices.Contains(f.running, d.serial) {
				members = append(members, d.name)
				disk.Holders, disk.Held = []string{"md127"}, true
			}
		}
		have.Disks = append(have.Disks, disk)
	}
	if f.stick != nil {
		have.Disks = append(have.Disks, f.usb())
	}
	have.Swaps = slices.Clone(f.swaps)
	slices.SortFunc(have.Disks, func(a, b facts.Disk) int { return strings.Compare(a.Name, b.Name) })
	if f.running != nil {
		have.Arrays = []facts.Array{{Name: "md127", Dev: "/dev/md127", UUID: db1.UUID(identity.Array), Disks: f.slots(), Working: len(members), Members: members,
			Content: f.array.content(f.groupName())}}
	}
	if visible := f.running != nil || f.array.kind == ""; f.group && visible {
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
	have.Disks = facts.Classify(have, facts.Who{Identity: db1, Begun: plan.Begun(records)})
	if f.blind != nil {
		f.blind(&have)
	}
	return have, nil
}

func (f *fake) usb() facts.Disk {
	d := facts.Disk{Name: "sdu", Dev: "/dev/sdu", Names: []string{"sdu"}, Size: 8 * size.GiB, Serial: "stick", Bus: "usb", Content: f.stick.content("")}
	if f.stick.kind == "table" {
		d.Parts = []facts.Part{{Dev: "/dev/sdu1", Name: "sdu1", Number: 1, Content: f.swap.content("")}}
	}
	return d
}

// slots is how many disks the array was made of.
func (f *fake) slots() int {
	for _, d := range f.disks {
		if d.member != nil {
			return d.member.Disks
		}
	}
	return 0
}

// serial finds a disk by its name of today.
func (f *fake) serial(dev string) *pretended {
	at := slices.IndexFunc(f.disks, func(d *pretended) bool { return "/dev/"+d.name == dev })
	return f.disks[at]
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
		for _, dev := range a.From {
			f.running = append(f.running, f.serial(dev).serial)
		}
	case act.AddMember:
		f.addMember(a)
	case act.MakeTable:
		f.write(f.at(a.Dev), thing{kind: "table", uuid: a.UUID})
	case act.MakeSwap:
		f.write(f.at(a.Dev), thing{kind: "junk"})
		f.write(f.at(a.Dev), thing{kind: "swap", uuid: a.UUID})
	case act.MakeSwapfile:
		f.step()
		f.file = a.Size
	case act.SwapOn:
		f.swaps = append(f.swaps, a.Dev)
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
		f.serial(dev).member = &facts.Member{Array: a.UUID, Level: "raid" + a.Level, Disks: len(a.From), Role: slot}
	}
	f.step()
	f.array = thing{kind: f.stale}
	for _, dev := range a.From {
		f.running = append(f.running, f.serial(dev).serial)
	}
	return nil
}

// addMember takes a disk into the first slot that nobody has.
func (f *fake) addMember(a act.Act) {
	d, slot := f.serial(a.From[0]), 0
	f.write(&d.carries, d.carries) // may it be written to?
	for slices.ContainsFunc(f.disks, func(o *pretended) bool {
		return o.member != nil && o.member.Role == slot && slices.Contains(f.running, o.serial)
	}) {
		slot++
	}
	d.member = &facts.Member{Array: a.UUID, Level: f.level(), Disks: f.slots(), Role: slot, Events: 1}
	f.step()
	f.running = append(f.running, d.serial)
}

func (f *fake) level() string {
	for _, o := range f.disks {
		if o.member != nil {
			return o.member.Level
		}
	}
	return ""
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

func (f *fake) decide(w plan.Want, have facts.Have, records []journal.Record) plan.Plan {
	var p plan.Picks
	p.Disks, p.Missing, p.Unclear = facts.Pick(have.Disks, w.Storage.Disks)
	return plan.Storage(w, have, p, records)
}
