package raid

import (
	"os"
	"testing"

	"grove/firstboot/plan/act"
	"grove/internal/size"
)

func TestCommands(t *testing.T) {
	four := []string{"/dev/vdb", "/dev/vdc", "/dev/vdd", "/dev/vde"}
	for _, c := range []struct {
		name string
		act  act.Act
		want string
	}{
		{"RAID 10", act.Act{Kind: act.CreateArray, Dev: act.Array, From: four, UUID: "u", Label: "demo_db1", Level: "10", Chunk: 256 * size.KiB},
			"/usr/sbin/mdadm --create /dev/md/grove --uuid=u --name=demo_db1 --homehost=any --metadata=1.2 --level=10 --layout=n2 --chunk=256 --bitmap=internal --raid-devices=4 /dev/vdb /dev/vdc /dev/vdd /dev/vde"},
		{"RAID 0 has nothing to synchronize, so no bitmap", act.Act{Kind: act.CreateArray, Dev: act.Array, From: four[:2], UUID: "u", Label: "demo_db1", Level: "0", Chunk: size.MiB},
			"/usr/sbin/mdadm --create /dev/md/grove --uuid=u --name=demo_db1 --homehost=any --metadata=1.2 --level=0 --chunk=1024 --raid-devices=2 /dev/vdb /dev/vdc"},
		{"RAID 1 has no chunk; over our own superblocks mdadm does not ask", act.Act{Kind: act.CreateArray, Dev: act.Array, From: four[:2], UUID: "u", Label: "demo_db1", Level: "1", Redo: true},
			"/usr/sbin/mdadm --create /dev/md/grove --uuid=u --name=demo_db1 --homehost=any --metadata=1.2 --level=1 --bitmap=internal --run --raid-devices=2 /dev/vdb /dev/vdc"},
		{"a whole array", act.Act{Kind: act.Assemble, Dev: act.Array, From: four, UUID: "u"}, "/usr/sbin/mdadm --assemble /dev/md/grove --uuid=u /dev/vdb /dev/vdc /dev/vdd /dev/vde"},
		{"one that lacks a disk", act.Act{Kind: act.Assemble, Dev: act.Array, From: four[1:], UUID: "u", Run: true}, "/usr/sbin/mdadm --assemble /dev/md/grove --uuid=u --run /dev/vdc /dev/vdd /dev/vde"},
		{"a disk in a lost one's place", act.Act{Kind: act.AddMember, Dev: "/dev/md127", From: four[:1], UUID: "u"}, "/usr/sbin/mdadm --manage /dev/md127 --add /dev/vdb"},
	} {
		if got := Command(c.act).String(); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestBound(t *testing.T) {
	root := t.TempDir()
	if err := Bound(root, Calm); !os.IsNotExist(err) {
		t.Errorf("without md: got %v", err)
	}
	file := root + "/proc/sys/dev/raid/speed_limit_max"
	if err := os.MkdirAll(root+"/proc/sys/dev/raid", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Bound(root, Hurry); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(file); string(got) != "200000\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
