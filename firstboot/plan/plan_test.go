package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/firstboot/facts"
	"grove/firstboot/journal"
	"grove/firstboot/plan/act"
	"grove/firstboot/plan/identity"
	"grove/internal/size"
	"grove/internal/spec"
)

var db1 = identity.Identity{Cluster: "demo", Node: "db1"}

// disk reads `vdb 8GiB blank`: a name, a size and what it is. member SLOT/SLOTS [EVENTS] is of our array, pv is our physical volume, fs is our data.
func disk(text string) facts.Disk {
	w := strings.Fields(text)
	length, err := size.Parse(w[1])
	if err != nil {
		panic(err)
	}
	d := facts.Disk{Name: w[0], Dev: "/dev/" + w[0], Names: []string{w[0]}, Size: length, Serial: "serial-" + w[0], Bus: "virtio", Class: facts.OursComplete, Content: facts.Content{Sampled: true}}
	switch w[2] {
	case "blank":
		d.Class = facts.Blank
	case "data": // without any signature
		d.Class, d.Content.Data, d.Evidence = facts.Foreign, "at 4MiB", []string{"not zero at 4MiB, nothing known there"}
	case "ext4":
		d.Class, d.Content.Type, d.Content.UUID, d.Evidence = facts.Foreign, "ext4", "1234", []string{"ext4, label old"}
	case "other":
		d.Class, d.Content.Type, d.Evidence = facts.OtherNode, "linux_raid_member", []string{"made for node db2 of cluster demo, this is node db1 of cluster demo"}
	case "system":
		d.Class, d.Evidence = facts.System, []string{w[0] + "3 is /usr"}
	case "busy":
		d.Class, d.Held, d.Evidence = facts.Busy, true, []string{w[0] + " is mounted on /mnt"}
	case "pv":
		d.Content.Type, d.Content.UUID = "LVM2_member", db1.PV()
	case "fs":
		d.Content.Type, d.Content.UUID = "xfs", db1.UUID(identity.Data)
	case "member":
		m := facts.Member{Array: db1.UUID(identity.Array), Level: "raid10", Events: 7}
		if _, err := fmt.Sscanf(strings.Join(w[3:], " "), "%d/%d %d", &m.Role, &m.Disks, &m.Events); err != nil && m.Disks == 0 {
			panic(err)
		}
		d.Content.Type, d.Content.UUID, d.Content.Member = "linux_raid_member", m.Array, &m
	default:
		panic(w[2])
	}
	return d
}

func disksOf(texts ...string) (all []facts.Disk) {
	for _, t := range texts {
		all = append(all, disk(t))
	}
	return all
}

// record reads `create array` or `create array, done`.
func record(text, uuid string, on ...facts.Disk) journal.Record {
	kind, done := strings.CutSuffix(text, ", done")
	r := journal.Record{Kind: kind, Name: kind, Cluster: "demo", Node: "db1", UUID: uuid, Done: done}
	for _, d := range on {
		r.Disks = append(r.Disks, journal.Disk{Dev: d.Dev, Serial: d.Serial, Size: int64(d.Size)})
	}
	return r
}

// text is a plan as a person reads it.
func text(p Plan) string {
	var b strings.Builder
	for _, a := range p.Acts {
		redo := ""
		if a.Redo {
			redo = " AGAIN"
		}
		fmt.Fprintf(&b, "%s%s\n", a.Name, redo)
	}
	for _, r := range p.Refused {
		fmt.Fprintf(&b, "refused: %s | %s | %s\n", r.Sentence, strings.Join(r.Evidence, "; "), r.Command)
	}
	for _, w := range p.Waits {
		fmt.Fprintf(&b, "waits %d s: %s\n", w.Left, w.Sentence)
	}
	for _, line := range append(slices.Clone(p.Ready), p.Notes...) {
		fmt.Fprintln(&b, line)
	}
	if p.More {
		fmt.Fprintln(&b, "and more")
	}
	return b.String()
}

func raid(level spec.Level, volumes spec.Volumes, names ...string) *spec.Storage {
	s := &spec.Storage{Raid: spec.Raid{Level: level}, Volumes: volumes, Filesystem: "xfs", Options: []string{"noatime", "noexec"}}
	if level == "10" || level == "0" {
		s.Raid.Chunk = 256 * size.KiB
	}
	for _, n := range names {
		s.Disks = append(s.Disks, spec.Selector{Name: n, Count: 1})
	}
	return s
}

var (
	three  = spec.Volumes{Data: 90, Log: 5, Journal: 5}
	one    = spec.Volumes{}
	four   = []string{"vdb", "vdc", "vdd", "vde"}
	blanks = []string{"vda 8GiB system", "vdb 8GiB blank", "vdc 8GiB blank", "vdd 8GiB blank", "vde 8GiB blank"}
	arrays = []string{"vda 8GiB system", "vdb 8GiB member 0/4", "vdc 8GiB member 1/4", "vdd 8GiB member 2/4", "vde 8GiB member 3/4"}
)

// with replaces the disk of each name.
func with(list []string, others ...string) []string {
	list = slices.Clone(list)
	for _, o := range others {
		at := slices.IndexFunc(list, func(l string) bool { return strings.Fields(l)[0] == strings.Fields(o)[0] })
		if list[at] = o; strings.HasSuffix(o, " gone") {
			list = slices.Delete(list, at, at+1)
		}
	}
	return list
}

const chain = `create physical volume on RAID 10 demo/db1
create volume group grove on RAID 10 demo/db1
create volume grove/data, 90%
create volume grove/log, 5%
create volume grove/journal, 5%
make xfs on grove/data, label db1
make xfs on grove/log, label db1
make xfs on grove/journal, label db1
mount grove/data on /data, noatime noexec
mount grove/log on /log, noatime noexec
mount grove/journal on /journal, noatime noexec
link /data/journal to /journal
write /data/.grove-complete
`

func TestStorage(t *testing.T) {
	array, data := db1.UUID(identity.Array), db1.UUID(identity.Data)
	made := []journal.Record{record("create array, done", array), record("make file system, done", data), record("seal, done", data)}
	for _, c := range []struct {
		name    string
		storage *spec.Storage
		disks   []string
		records []journal.Record
		change  func(*Want, *facts.Have)
		want    string
	}{
		{name: "nothing wanted, nothing done", disks: blanks},
		{name: "no name yet", storage: raid("10", three, four...), disks: blanks, change: func(w *Want, _ *facts.Have) { w.Identity.Node = "" },
			want: "waits 30 s: the node's name, by which its disks are known\n"},
		{name: "four blank disks become the whole of it", storage: raid("10", three, four...), disks: blanks,
			want: "create RAID 10 demo/db1 of vdb, vdc, vdd, vde, chunk 256KiB\n" + chain},
		{name: "without volumes the file system is on the array", storage: raid("1", one, "vdb", "vdc"), disks: blanks,
			want: "create RAID 1 demo/db1 of vdb, vdc\nmake xfs on RAID 1 demo/db1, label db1\nmount RAID 1 demo/db1 on /data, noatime noexec\nwrite /data/.grove-complete\n"},
		{name: "one disk", storage: raid("none", one, "vdb"), disks: blanks,
			want: "make xfs on vdb, label db1\nmount vdb on /data, noatime noexec\nwrite /data/.grove-complete\n"},
		{name: "one foreign disk stops all", storage: raid("10", three, four...), disks: with(blanks, "vdd 8GiB ext4"),
			want: "refused: RAID 10 demo/db1: vdd is not blank | ext4, label old | blkdiscard -f -z /dev/vdd\n"},
		{name: "all that is wrong is said at once", storage: raid("10", one, four...), disks: with(blanks, "vdb 8GiB data", "vdc 8GiB other", "vdd 8GiB busy"),
			want: "refused: RAID 10 demo/db1: vdb is not blank | not zero at 4MiB, nothing known there | blkdiscard -f -z /dev/vdb\n" +
				"refused: RAID 10 demo/db1: vdc is another node's | made for node db2 of cluster demo, this is node db1 of cluster demo | \n" +
				"refused: RAID 10 demo/db1: vdd is in use | vdd is mounted on /mnt | \n"},
		{name: "the node's own medium in the recipe", storage: raid("none", one, "vda"), disks: blanks,
			want: "refused: data of demo/db1: vda is vda, the disk that the node runs from, which cannot be picked: vda3 is /usr |  | \n"},
		{name: "disks of another size", storage: raid("1", one, "vdb", "vdc"), disks: with(blanks, "vdc 9GiB blank"),
			want: "refused: RAID 1 demo/db1: its disks differ in size: vdb has 8GiB, vdc has 9GiB | vda (8 GiB, system); vdb (8 GiB, blank); vdc (9 GiB, blank); vdd (8 GiB, blank); vde (8 GiB, blank) | \n"},
		{name: "a share that is too small for xfs", storage: raid("1", three, "vdb", "vdc"), disks: []string{"vdb 4GiB blank", "vdc 4GiB blank"},
			want: "refused: RAID 1 demo/db1: 5% of 4 GiB for /log is 205 MiB, and xfs wants 310 MiB at least: take ext4, larger disks or another share | vdb (4 GiB, blank); vdc (4 GiB, blank) | \n"},
		{name: "a late disk is waited for", storage: raid("1", one, "vdb", "vdf"), disks: blanks[:2], change: func(w *Want, _ *facts.Have) { w.Waited = 20 },
			want: "waits 40 s: have 1 disks, want 2: nothing is vdf; there is vda (8 GiB, virtio, serial serial-vda, system), vdb (8 GiB, virtio, serial serial-vdb, blank)\n"},
		{name: "a disk of a cloud may be later", storage: raid("1", one, "xvdb", "xvdf"), disks: nil, change: func(w *Want, _ *facts.Have) { w.Waited = 61 },
			want: "waits 539 s: have 0 disks, want 2: nothing is xvdb, nor xvdf; there is no disk at all\n"},
		{name: "never with fewer than asked for", storage: raid("10", one, four...), disks: with(blanks, "vde gone"), change: func(w *Want, _ *facts.Have) { w.Waited = 60 },
			want: "refused: RAID 10 demo/db1: have 3 disks, want 4: nothing is vde within 60 s | vda (8 GiB, system); vdb (8 GiB, blank); vdc (8 GiB, blank); vdd (8 GiB, blank) | \n"},
		{name: "nothing is made without a journal", storage: raid("1", one, "vdb", "vdc"), disks: blanks, change: func(w *Want, _ *facts.Have) { w.Recording = false },
			want: "refused: RAID 1 demo/db1: there is no journal on the state partition, and nothing is made without one |  | \n"},

		{name: "what was sealed is put to use without a look between", storage: raid("10", three, four...), disks: arrays, records: made,
			want: "assemble RAID 10 demo/db1 of vdb, vdc, vdd, vde\nactivate volume group grove\nmount grove/data on /data, noatime noexec\n" +
				"mount grove/log on /log, noatime noexec\nmount grove/journal on /journal, noatime noexec\nlink /data/journal to /journal\n"},
		{name: "disks under other names are the same array", storage: raid("10", one, four...), records: made,
			disks: []string{"sda 8GiB member 3/4", "sdb 8GiB member 0/4", "vda 8GiB member 2/4", "vdb 8GiB system", "vdz 8GiB member 1/4"},
			want:  "assemble RAID 10 demo/db1 of sdb, vdz, vda, sda\nmount RAID 10 demo/db1 on /data, noatime noexec\n"},
		{name: "a medium written anew knows nothing, and looks after each step", storage: raid("10", one, four...), disks: arrays,
			want: "assemble RAID 10 demo/db1 of vdb, vdc, vdd, vde\nand more\n"},
		{name: "without a medium what is whole serves, if its seal says so", storage: raid("none", one, "vdb"), disks: []string{"vdb 8GiB fs"},
			change: func(w *Want, _ *facts.Have) { w.Recording = false }, want: "mount vdb on /data, noatime noexec\nread /data/.grove-complete\n"},
		{name: "another file system than the recipe wants by now", storage: &spec.Storage{Disks: []spec.Selector{{Name: "vdb", Count: 1}}, Raid: spec.Raid{Level: "none"}, Filesystem: "ext4"},
			disks: []string{"vdb 8GiB fs"}, records: made, want: "mount vdb on /data, \nvdb is xfs, the recipe wants ext4: it is served as it is\n"},
		{name: "what stands is left alone", storage: raid("none", one, "vdb"), disks: []string{"vdb 8GiB fs"}, records: made,
			change: func(_ *Want, h *facts.Have) {
				h.Mounts = []facts.Mount{{Dev: "/dev/vdb", Kernel: "vdb", Target: "/data"}}
			}, want: "vdb on /data\n"},
		{name: "something else is mounted there", storage: raid("none", one, "vdb"), disks: []string{"vdb 8GiB fs"}, records: made,
			change: func(_ *Want, h *facts.Have) {
				h.Mounts = []facts.Mount{{Dev: "/dev/vdc", Kernel: "vdc", Target: "/data"}}
			}, want: "refused: vdb: /dev/vdc is mounted on /data |  | umount /data\n"},

		{name: "two of four members written when the power went", storage: raid("10", one, four...), disks: with(blanks, "vdb 8GiB member 0/4 0", "vdc 8GiB member 1/4 0"),
			records: []journal.Record{record("create array", array)},
			want: "create RAID 10 demo/db1 of vdb, vdc, vdd, vde, chunk 256KiB AGAIN\nmake xfs on RAID 10 demo/db1, label db1\n" +
				"mount RAID 10 demo/db1 on /data, noatime noexec\nwrite /data/.grove-complete\n"},
		{name: "the same with somebody's data on the rest", storage: raid("10", one, four...), disks: with(blanks, "vdb 8GiB member 0/4 0", "vde 8GiB data"),
			records: []journal.Record{record("create array", array)},
			want:    "refused: RAID 10 demo/db1: vde is not blank | not zero at 4MiB, nothing known there | blkdiscard -f -z /dev/vde\n"},
		{name: "members that the journal does not know of are not made anew", storage: raid("10", one, four...), disks: with(blanks, "vdb 8GiB member 0/4 0", "vdc 8GiB member 1/4 0"),
			change: func(w *Want, _ *facts.Have) { w.Waited = 99 },
			want: "refused: RAID 10 demo/db1: have 2 of its 4 disks: vdb, vdc and both copies, slots 2 and 3, are missing | vda (8 GiB, system); vdb (8 GiB, ours-complete); " +
				"vdc (8 GiB, ours-complete); vdd (8 GiB, blank); vde (8 GiB, blank) | mdadm --assemble --run /dev/md/grove /dev/vdb /dev/vdc\n"},
		{name: "an array that ran is not made anew, whatever the journal says", storage: raid("10", one, four...), disks: with(arrays, "vde 8GiB blank"),
			records: []journal.Record{record("create array", array)}, change: func(w *Want, _ *facts.Have) { w.Waited = 60 },
			want: "refused: RAID 10 demo/db1: have 3 of its 4 disks: vdb, vdc, vdd and no journal says that it was whole once | vda (8 GiB, system); vdb (8 GiB, ours-complete); " +
				"vdc (8 GiB, ours-complete); vdd (8 GiB, ours-complete); vde (8 GiB, blank) | mdadm --assemble --run /dev/md/grove /dev/vdb /dev/vdc /dev/vdd\n"},
		{name: "a file system half made on a disk that is known by its serial number", storage: raid("none", one, "vdb"), disks: []string{"vdb 8GiB data"},
			records: []journal.Record{record("make file system", data, disk("vdb 8GiB data"))},
			want:    "make xfs on vdb, label db1 AGAIN\nmount vdb on /data, noatime noexec\nwrite /data/.grove-complete\n"},
		{name: "the same on another disk", storage: raid("none", one, "vdb"), disks: []string{"vdb 8GiB data"}, records: []journal.Record{record("make file system", data, disk("vdc 8GiB data"))},
			want: "refused: data of demo/db1: vdb is not blank | not zero at 4MiB, nothing known there | blkdiscard -f -z /dev/vdb\n"},
		{name: "a whole file system whose making the journal saw to its end is not made anew", storage: raid("none", one, "vdb"), disks: []string{"vdb 8GiB fs"},
			records: []journal.Record{record("make file system, done", data)}, want: "mount vdb on /data, noatime noexec\nwrite /data/.grove-complete\n"},
		{name: "another node's records say nothing", storage: raid("none", one, "vdb"), disks: []string{"vdb 8GiB data"},
			records: []journal.Record{{Kind: "make file system", Cluster: "demo", Node: "db2", UUID: data, Disks: record("", "", disk("vdb 8GiB data")).Disks}},
			want:    "refused: data of demo/db1: vdb is not blank | not zero at 4MiB, nothing known there | blkdiscard -f -z /dev/vdb\n"},

		{name: "a lost disk is waited for a while", storage: raid("10", one, four...), disks: with(arrays, "vdd gone"), records: made, change: func(w *Want, _ *facts.Have) { w.Waited = 10 },
			want: "waits 20 s: RAID 10 demo/db1: have 3 of its 4 disks: vdb, vdc, vde; then it serves without the rest\n"},
		{name: "then the rest serves", storage: raid("10", one, four...), disks: with(arrays, "vdd gone"), records: made, change: func(w *Want, _ *facts.Have) { w.Waited = 30 },
			want: "assemble RAID 10 demo/db1 of vdb, vdc, vde, 3 of 4\nmount RAID 10 demo/db1 on /data, noatime noexec\n"},
		{name: "both copies lost", storage: raid("10", one, four...), disks: with(arrays, "vdd gone", "vde gone"), records: made, change: func(w *Want, _ *facts.Have) { w.Waited = 60 },
			want: "refused: RAID 10 demo/db1: have 2 of its 4 disks: vdb, vdc and both copies, slots 2 and 3, are missing | " +
				"vda (8 GiB, system); vdb (8 GiB, ours-complete); vdc (8 GiB, ours-complete) | mdadm --assemble --run /dev/md/grove /dev/vdb /dev/vdc\n"},
		{name: "one came back after its place was taken", storage: raid("10", one, four...), disks: append(slices.Clone(arrays), "vdf 8GiB member 2/4 3"), records: made,
			want: "assemble RAID 10 demo/db1 of vdb, vdc, vdd, vde\nmount RAID 10 demo/db1 on /data, noatime noexec\n"},
		{name: "a copy of a member", storage: raid("10", one, four...), disks: append(slices.Clone(arrays), "vdf 8GiB member 2/4"), records: made,
			want: "refused: RAID 10 demo/db1: vdd and vdf are the same member of it: take the copy away |  | \n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := Want{Identity: db1, Storage: c.storage, Recording: true}
			have := facts.Have{Disks: disksOf(c.disks...)}
			if c.change != nil {
				c.change(&w, &have)
			}
			var p Picks
			if c.storage != nil {
				p.Disks, p.Missing, p.Unclear = facts.Pick(have.Disks, c.storage.Disks)
			}
			got := Storage(w, have, p, c.records)
			if diff := cmp.Diff(c.want, text(got)); diff != "" {
				t.Errorf("want - got +\n%s", diff)
			}
		})
	}
}

// running is an array of four that has lost vdd, and serves.
func running(members ...string) facts.Have {
	h := facts.Have{Disks: disksOf(arrays...), Mounts: []facts.Mount{{Kernel: "md127", Target: "/data"}}}
	h.Arrays = []facts.Array{{Name: "md127", Dev: "/dev/md127", State: "clean", UUID: db1.UUID(identity.Array), Disks: 4, Working: len(members), Members: members,
		Content: facts.Content{Type: "xfs", UUID: db1.UUID(identity.Data)}}}
	for n := range h.Disks {
		h.Disks[n].Held = slices.Contains(members, h.Disks[n].Name)
	}
	return h
}

func TestRebuild(t *testing.T) {
	data := db1.UUID(identity.Data)
	records := []journal.Record{record("create array, done", db1.UUID(identity.Array)), record("make file system, done", data), record("seal, done", data)}
	const stands = "RAID 10 demo/db1 on /data\n"
	for _, c := range []struct {
		name    string
		have    facts.Have
		vdd     string
		rebuild bool
		add     []string
		want    string
	}{
		{name: "nothing to add", have: running("vdb", "vdc", "vde"), want: stands},
		{name: "a blank disk is left alone, and spoken of", have: running("vdb", "vdc", "vde"), vdd: "vdd 8GiB blank",
			want: stands + "vdd is blank and could take a lost disk's place in RAID 10 demo/db1: set storage.rebuild, or type /init storage rebuild /dev/vdd\n"},
		{name: "the recipe says so", have: running("vdb", "vdc", "vde"), vdd: "vdd 8GiB blank", rebuild: true, want: "add vdd to RAID 10 demo/db1\n" + stands},
		{name: "a person says so", have: running("vdb", "vdc", "vde"), vdd: "vdd 8GiB blank", add: []string{"/dev/vdd"}, want: "add vdd to RAID 10 demo/db1\n" + stands},
		{name: "a disk that is too small is not added", have: running("vdb", "vdc", "vde"), vdd: "vdd 7GiB blank", rebuild: true,
			want: stands + "vdd has 7GiB and is too small for RAID 10 demo/db1, whose disks have 8GiB\n"},
		{name: "a foreign disk is not added, whoever says so", have: running("vdb", "vdc", "vde"), vdd: "vdd 8GiB ext4", rebuild: true, add: []string{"/dev/vdd"}, want: stands},
		{name: "its own former member is taken back", have: running("vdb", "vdc", "vde"), vdd: "vdd 8GiB member 2/4 3", want: "add vdd to RAID 10 demo/db1 AGAIN\n" + stands},
		{name: "a whole array needs none", have: running("vdb", "vdc", "vdd", "vde"), rebuild: true, want: stands},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := slices.IndexFunc(c.have.Disks, func(d facts.Disk) bool { return d.Name == "vdd" })
			if c.vdd != "" {
				c.have.Disks[at] = disk(c.vdd)
			} else if len(c.have.Arrays[0].Members) < 4 {
				c.have.Disks = slices.Delete(c.have.Disks, at, at+1)
			}
			s := raid("10", one, four...)
			s.Rebuild = c.rebuild
			var p Picks
			p.Disks, p.Missing, p.Unclear = facts.Pick(c.have.Disks, s.Disks)
			got := Storage(Want{Identity: db1, Storage: s, Recording: true, Add: c.add}, c.have, p, records)
			if diff := cmp.Diff(c.want, text(got)); diff != "" {
				t.Errorf("want - got +\n%s", diff)
			}
		})
	}
}

func TestGuard(t *testing.T) {
	blank, data := facts.Content{Sampled: true}, facts.Content{Sampled: true, Data: "at 4MiB"}
	ours, theirs := facts.Content{Type: "xfs", UUID: "u"}, facts.Content{Type: "ext4", UUID: "v", Label: "old"}
	for _, c := range []struct {
		name    string
		act     act.Act
		content facts.Content
		want    string
	}{
		{"made on what is blank", act.Act{Kind: act.MakeFS, Dev: "/dev/x", UUID: "u"}, blank, ""},
		{"not on what was not looked at closely", act.Act{Kind: act.MakeFS, Dev: "/dev/x", UUID: "u"}, facts.Content{}, "/dev/x is not blank: nothing known"},
		{"not on an old file system that came to light", act.Act{Kind: act.CreatePV, Dev: "/dev/x", UUID: "u"}, theirs, `/dev/x is not blank: ext4, label "old", UUID v`},
		{"not on our own, at first", act.Act{Kind: act.MakeFS, Dev: "/dev/x", UUID: "u"}, ours, `/dev/x is not blank: xfs, label "", UUID u`},
		{"again on our own", act.Act{Kind: act.MakeFS, Dev: "/dev/x", UUID: "u", Redo: true}, ours, ""},
		{"again on what a cut-off mkfs leaves", act.Act{Kind: act.MakeFS, Dev: "/dev/x", UUID: "u", Redo: true}, data, ""},
		{"not again on another's", act.Act{Kind: act.MakeFS, Dev: "/dev/x", UUID: "u", Redo: true}, theirs, `/dev/x is not blank: ext4, label "old", UUID v`},
		{"mounted by its UUID", act.Act{Kind: act.Mount, Dev: "/dev/x", UUID: "u"}, ours, ""},
		{"not what has another", act.Act{Kind: act.Mount, Dev: "/dev/x", UUID: "u"}, theirs, `want UUID u, have ext4, label "old", UUID v`},
		{"swap on swap", act.Act{Kind: act.SwapOn}, facts.Content{Type: "swap", UUID: "w"}, ""},
		{"not on anything else", act.Act{Kind: act.SwapOn, UUID: "u"}, ours, `want swap, UUID u, have xfs, label "", UUID u`},
		{"nothing on what can't be read", act.Act{Kind: act.MakeFS, Dev: "/dev/x", Redo: true, UUID: "u"}, facts.Content{Fault: "input/output error"}, "/dev/x is not blank: input/output error"},
	} {
		got := ""
		if err := Guard(c.act, c.content); err != nil {
			got = err.Error()
		}
		if got != c.want || !Guarded(c.act.Kind) {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
		}
	}
}

func TestWhoseDisks(t *testing.T) {
	records := []journal.Record{{Cluster: "demo", Node: "db1"}}
	for _, c := range []struct {
		name  string
		now   string
		given bool
		want  string
	}{
		{"a given name is the node's", "db2", true, "db2"},
		{"a name of DHCP gives way to that of the disks", "grove-a1b2c3", false, "db1"},
		{"no name yet", "", false, ""},
	} {
		if got := Whose(identity.Identity{Cluster: "demo", Node: c.now}, c.given, records); got.Node != c.want {
			t.Errorf("%s: got %s", c.name, got)
		}
	}
	if got := Whose(identity.Identity{Cluster: "other", Node: "x"}, false, records); got.Node != "x" {
		t.Errorf("records of another cluster: got %s", got)
	}
}

func TestBegunIsTheLastActOnly(t *testing.T) {
	a, b := disk("vdb 8GiB blank"), disk("vdc 1GiB blank")
	records := []journal.Record{record("create array", "", a), record("make file system", "", a), record("make swap", "", b)}
	if got := Begun(records); len(got) != 2 || got[0].Act != "make swap" || got[1].Act != "make file system" || got[1].Serial != "serial-vdb" {
		t.Errorf("got %v; want the last of storage and the last of swap", got)
	}
	records[1].Done, records[2].Done = true, true
	if got := Begun(records); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}
