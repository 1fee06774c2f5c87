package facts

import (
	"strings"
	"testing"

	"grove/firstboot/plan/identity"
	"grove/internal/size"
)

var (
	db7    = identity.Identity{Cluster: "prod", Node: "db7"}
	db8    = identity.Identity{Cluster: "prod", Node: "db8"}
	medium = "8ad7e977-159c-89f8-b907-d33c00c8c72f"
)

func member(of identity.Identity, role int) Content {
	return Content{Type: "linux_raid_member", UUID: of.UUID(identity.Array), Label: of.Array(), Signatures: []string{"linux_raid_member at 0x1000"},
		Member: &Member{Array: of.UUID(identity.Array), Name: of.Array(), Level: "raid10", Disks: 4, Role: role}}
}

func fs(kind string, of identity.Identity, r identity.Role) Content {
	return Content{Type: kind, UUID: of.UUID(r), Label: of.Label(), Signatures: []string{kind + " at 0x438"}}
}

func TestClassify(t *testing.T) {
	zero := Content{Sampled: true}
	strange := Content{Type: "ext4", UUID: "01234567-89ab-4def-8123-456789abcdef", Label: "data", Signatures: []string{"ext4 at 0x438"}}
	pv := func(id, group string) Content {
		return Content{Type: "LVM2_member", UUID: id, Group: "grove", GroupID: group}
	}
	groups := []Group{{Name: "grove", UUID: "mine", Tags: db7.Tags()}, {Name: "grove", UUID: "other", Tags: db8.Tags()}, {Name: "vg0", UUID: "plain"}}
	part := func(c ...Content) (all []Part) {
		for n, c := range c {
			all = append(all, Part{Name: "sdx" + string(rune('1'+n)), Number: n + 1, Content: c})
		}
		return all
	}
	stick := Content{Table: "dos", TableID: "12abcdef"}
	begun := []Begun{{Act: "make xfs on sdx, label db7", Serial: "S1", Size: size.GiB}}
	for _, c := range []struct {
		name  string
		disk  Disk
		have  Have // mounts and swaps
		begun []Begun
		want  Class
		said  string // all evidence, or what it begins with before ...
	}{
		{name: "blank", disk: Disk{Content: zero}, want: Blank, said: "nothing known on it, and zero wherever it was read"},
		{name: "not sampled is not blank", disk: Disk{}, want: Foreign, said: "nothing known on it, and not looked at any closer"},
		{name: "data without a name", disk: Disk{Content: Content{Sampled: true, Data: "at 512MiB"}}, want: Foreign, said: "not zero at 512MiB, nothing known there"},
		{name: "what can't be read", disk: Disk{Content: Content{Sampled: true, Fault: "input/output error"}}, want: Foreign, said: "cannot be looked at: input/output error"},
		{name: "blank and write-protected", disk: Disk{Content: zero, ReadOnly: true}, want: Foreign, said: "nothing known on it, and zero wherever it was read; it is write-protected"},
		{name: "blank to all programs, but the kernel shows a partition", disk: Disk{Content: zero, Parts: part(Content{})}, want: Foreign, said: "..."},
		{name: "somebody's file system", disk: Disk{Content: strange}, want: Foreign, said: "ext4, label data, UUID 01234567-89ab-4def-8123-456789abcdef"},
		{name: "encryption", disk: Disk{Content: Content{Type: "crypto_LUKS", UUID: "u"}}, want: Foreign, said: "LUKS encryption, UUID u"},
		{name: "signatures that exclude each other", disk: Disk{Content: Content{Ambivalent: true, Signatures: []string{"xfs at 0x0", "ext4 at 0x438"}}}, want: Foreign,
			said: "signatures: xfs at 0x0, ext4 at 0x438; they exclude each other: nobody can say what it is"},
		{name: "a signature that blkid does not name", disk: Disk{Content: Content{Signatures: []string{"zfs_member at 0x3f000"}}}, want: Foreign, said: "signatures: zfs_member at 0x3f000"},
		{name: "a table with partitions", disk: Disk{Content: Content{Table: "gpt", TableID: "x"}, Parts: part(strange, Content{})}, want: Foreign,
			said: "GPT with 2 partitions; sdx1: ext4, label data, UUID 01234567-89ab-4def-8123-456789abcdef"},
		{name: "an empty table", disk: Disk{Content: Content{Table: "dos", TableID: "12abcdef"}}, want: Foreign, said: "MBR with 0 partitions"},
		{name: "a table of another kind", disk: Disk{Content: Content{Table: "sun"}}, want: Foreign, said: "partition table sun with 0 partitions"},
		{name: "a member of an array of somebody's", disk: Disk{Content: Content{Type: "linux_raid_member", UUID: "u", Member: &Member{Array: "u", Name: "db7", Level: "raid10", Disks: 4, Role: 1}}}, want: Foreign,
			said: `member 2 of 4 of the raid10 "db7", UUID u`},
		{name: "a spare of somebody's", disk: Disk{Content: Content{Type: "linux_raid_member", UUID: "u", Member: &Member{Array: "u", Name: "x", Level: "raid1", Disks: 2, Role: -1}}}, want: Foreign,
			said: `spare of the raid1 "x", UUID u`},
		{name: "a physical volume of somebody's", disk: Disk{Content: Content{Type: "LVM2_member", UUID: "u", Group: "vg0", GroupID: "plain"}}, want: Foreign,
			said: "LVM physical volume, UUID u, of volume group vg0"},
		{name: "a physical volume of our group that we did not make", disk: Disk{Content: pv("u", "mine")}, want: Foreign, said: "LVM physical volume, UUID u, of volume group grove, tags ..."},

		{name: "our member", disk: Disk{Content: member(db7, 1)}, want: OursComplete, said: `member 2 of 4 of the raid10 "prod_db7", UUID ` + db7.UUID(identity.Array) + ", made for node db7 of cluster prod"},
		{name: "our member in our array that runs", disk: Disk{Content: member(db7, 1), Holders: []string{"dm-0", "md127"}, Held: true}, want: OursComplete, said: "member 2 of 4 ..."},
		{name: "our physical volume", disk: Disk{Content: pv(db7.PV(), "mine")}, want: OursComplete, said: "LVM physical volume, ..."},
		{name: "our physical volume before it has a group", disk: Disk{Content: Content{Type: "LVM2_member", UUID: db7.PV()}}, want: OursComplete, said: "LVM physical volume, UUID " + db7.PV() + ", of no volume group"},
		{name: "our file system", disk: Disk{Content: fs("ext4", db7, identity.Data)}, want: OursComplete, said: "ext4, label db7, UUID " + db7.UUID(identity.Data)},
		{name: "our file system, mounted", disk: Disk{Content: fs("ext4", db7, identity.Data), Held: true}, have: Have{Mounts: []Mount{{Kernel: "sdx", Target: "/data"}}}, want: OursComplete,
			said: "ext4, label db7, UUID " + db7.UUID(identity.Data) + "; sdx is mounted on /data"},
		{name: "our swap on a stick, in use", disk: Disk{Content: stick, Parts: part(fs("swap", db7, identity.Swap("usb"))), Held: true}, have: Have{Swaps: []string{"/dev/sdx1"}}, want: OursComplete,
			said: "MBR with 1 partition; sdx1: swap, label db7, ..."},
		{name: "our work, cut off", disk: Disk{Content: fs("xfs", db7, identity.Data), Serial: "S1", Size: size.GiB}, begun: begun, want: OursPartial, said: "xfs, label db7, ..."},
		{name: "our work, cut off before it had a name", disk: Disk{Content: Content{Sampled: true, Data: "at 4KiB"}, Serial: "S1", Size: size.GiB}, begun: begun, want: OursPartial,
			said: "not zero at 4KiB, nothing known there; make xfs on sdx, label db7 was begun on it and did not come to its end"},
		{name: "begun on a disk of another size", disk: Disk{Content: Content{Sampled: true, Data: "at 4KiB"}, Serial: "S1", Size: 2 * size.GiB}, begun: begun, want: Foreign, said: "not zero ..."},
		{name: "begun on a disk without a serial number", disk: Disk{Content: Content{Sampled: true, Data: "at 4KiB"}, Size: size.GiB}, begun: []Begun{{Act: "x", Size: size.GiB}}, want: Foreign, said: "not zero ..."},
		{name: "somebody's file system on a disk that work was begun on", disk: Disk{Content: strange, Serial: "S1", Size: size.GiB}, begun: begun, want: Foreign, said: "ext4, label data, ..."},
		{name: "part ours, part not", disk: Disk{Content: stick, Parts: part(fs("swap", db7, identity.Swap("usb")), strange)}, want: Foreign, said: "MBR with 2 partitions; ..."},
		{name: "ours and something else on the same place", disk: Disk{Content: func() Content { c := member(db7, 0); c.Ambivalent = true; return c }()}, want: Foreign, said: "member 1 of 4 ..."},

		{name: "a member of another node", disk: Disk{Content: member(db8, 1)}, want: OtherNode, said: "made for node db8 of cluster prod, this is node db7 of cluster prod; member 2 of 4 ..."},
		{name: "a member of another cluster", disk: Disk{Content: member(identity.Identity{Cluster: "test", Node: "db7"}, 0)}, want: OtherNode, said: "made for node db7 of cluster test, this is node db7 of cluster prod; ..."},
		{name: "a member of a node of long name", disk: Disk{Content: member(identity.Identity{Cluster: "production-of-the-north", Node: "replica-17.north.example.org"}, 0)}, want: OtherNode,
			said: "made for a node of Grove whose name was too long to be kept, this is ..."},
		{name: "a physical volume of another node", disk: Disk{Content: pv("u", "other")}, want: OtherNode, said: "made for node db8 of cluster prod, ..."},
		{name: "a file system of another node", disk: Disk{Content: fs("xfs", db8, identity.Data)}, want: OtherNode, said: "made for node db8 of cluster prod, ..."},
		{name: "another node's is not blank for having been begun on", disk: Disk{Content: member(db8, 1), Serial: "S1", Size: size.GiB}, begun: begun, want: OtherNode, said: "made for node db8 ..."},
		{name: "another node's that somebody has assembled", disk: Disk{Content: member(db8, 1), Holders: []string{"md127"}, Held: true}, want: Busy, said: "built on it: md127; member 2 of 4 ..."},

		{name: "mounted by somebody", disk: Disk{Content: strange, Held: true}, have: Have{Mounts: []Mount{{Kernel: "sdx", Target: "/mnt"}}}, want: Busy, said: "sdx is mounted on /mnt; ext4, ..."},
		{name: "held by a program", disk: Disk{Held: true}, want: Busy, said: "somebody has it open for themselves; ..."},
		{name: "in somebody's array", disk: Disk{Content: Content{Sampled: true}, Holders: []string{"md0"}, Held: true}, want: Busy, said: "built on it: md0; ..."},

		{name: "the medium by its table, before anything of it is mounted", disk: Disk{Content: Content{Table: "gpt", TableID: strings.ToUpper(medium)}}, want: System, said: "carries the image ..."},
		{name: "the medium by what is mounted", disk: Disk{Content: Content{Table: "gpt", TableID: "x"}, Parts: part(Content{}, Content{}), Held: true},
			have: Have{Mounts: []Mount{{Kernel: "sdx1", Target: "/usr"}, {Kernel: "sdx2", Target: "/state"}}}, want: System, said: "sdx1 is /usr; sdx2 is /state"},
		{name: "below what is mounted", disk: Disk{Content: member(db7, 0), Holders: []string{"dm-3", "md1"}}, have: Have{Mounts: []Mount{{Kernel: "dm-3", Target: "/"}}}, want: System, said: "dm-3 is /"},
		{name: "swap that is not ours", disk: Disk{Content: stick, Parts: part(Content{Type: "swap"})}, have: Have{Swaps: []string{"/dev/sdx1"}}, want: System, said: "sdx1 is swap in use"},
		{name: "a disk whose name begins alike is another", disk: Disk{Content: zero}, have: Have{Mounts: []Mount{{Kernel: "sdxa1", Target: "/usr"}}}, want: Blank, said: "..."},
	} {
		c.disk.Name = "sdx"
		c.have.Disks, c.have.Groups = []Disk{c.disk}, groups
		got := Classify(c.have, Who{Identity: db7, Medium: medium, Begun: c.begun})[0]
		said := strings.Join(got.Evidence, "; ")
		begin, open := strings.CutSuffix(c.said, "...")
		if got.Class != c.want || !open && said != c.said || !strings.HasPrefix(said, begin) {
			t.Errorf("%s: got %s: %s\nwant %s: %s", c.name, got.Class, said, c.want, c.said)
		}
		if c.have.Disks[0].Class != "" {
			t.Fatalf("%s: the disks that were given are changed", c.name)
		}
	}
}

// Before a node has its name, nothing is its own, and what any node has made stays another's.
func TestANodeWithoutANameOwnsNothing(t *testing.T) {
	nameless := identity.Identity{Cluster: "prod"}
	for name, c := range map[string]struct {
		content Content
		want    Class
	}{"member": {member(db7, 0), OtherNode}, "made by the nameless": {fs("xfs", nameless, identity.Data), Foreign}, "blank": {Content{Sampled: true}, Blank}} {
		have := Have{Disks: []Disk{{Name: "sdx", Content: c.content}}}
		got := Classify(have, Who{Identity: nameless})[0]
		if got.Class != c.want {
			t.Errorf("%s: got %s, %q; want %s", name, got.Class, got.Evidence, c.want)
		}
	}
}
