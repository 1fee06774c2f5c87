package storage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"grove/firstboot/plan/act"
	"grove/internal/host"
	"grove/internal/size"
)

// node is a folder for a node's files, a machine in memory, and hands that say what they run.
type node struct {
	t       *testing.T
	root    string
	machine *host.FakeMachine
	ran     []string
	hands   Hands
}

func newNode(t *testing.T) *node {
	n := &node{t: t, root: t.TempDir(), machine: &host.FakeMachine{}}
	n.machine.Programs = func(c host.Command) (string, error) {
		n.ran = append(n.ran, strings.ReplaceAll(c.String(), n.root, ""))
		return "", nil
	}
	n.hands = Hands{Host: n.machine, Root: n.root, Modules: (&Modules{Host: n.machine, Root: n.root}).Load}
	n.file("sys/block/vdb/size", "2048")
	n.file("sys/block/vdb/serial", "S1")
	n.file("sys/block/vdb/device/vendor", "")
	if err := os.Symlink("/sys/bus/virtio", n.root+"/sys/block/vdb/device/subsystem"); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *node) file(name, text string) {
	n.t.Helper()
	name = filepath.Join(n.root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) do(a act.Act) string {
	if err := n.hands.Do(context.Background(), a); err != nil {
		return strings.ReplaceAll(err.Error(), n.root, "")
	}
	return ""
}

func TestAnotherDiskUnderTheNameIsNotWrittenTo(t *testing.T) {
	for _, was := range []act.Disk{{Dev: "/dev/vdb", Serial: "S2", Size: size.MiB}, {Dev: "/dev/vdb", Serial: "S1", Size: 2 * size.MiB}, {Dev: "/dev/vdc", Serial: "S1", Size: size.MiB}} {
		n := newNode(t)
		got := n.do(act.Act{Kind: act.MakeFS, Type: "ext4", Dev: "/dev/vdb", Disks: []act.Disk{was}})
		if want := fmt.Sprintf("%s is no longer the disk with serial number %q and %s", was.Dev, was.Serial, was.Size); got != want || len(n.ran) > 0 {
			t.Errorf("got %q, ran %v; want %q", got, n.ran, want)
		}
	}
	n := newNode(t)
	if got := n.do(act.Act{Kind: act.MakeFS, Type: "ext4", Dev: "/dev/vdb", Disks: []act.Disk{{Dev: "/dev/vdb", Serial: "S1", Size: size.MiB}}}); got != "" || len(n.ran) != 1 {
		t.Errorf("the same disk: got %q, ran %v", got, n.ran)
	}
}

func TestModulesComeFirst(t *testing.T) {
	n := newNode(t)
	n.file("usr/lib/modules/index.json", `{"modules": {"md_mod": {"file": "/m/md.ko"}, "raid1": {"file": "/m/raid1.ko", "needs": ["md_mod"]}, "xfs": {"file": "/m/xfs.ko"}}}`)
	n.file("modules/index.json", `{"modules": {"ext4": {"file": "/m/ext4.ko"}}}`)
	n.do(act.Act{Kind: act.Assemble, Dev: act.Array, Level: "1", From: []string{"/dev/vdb"}, UUID: "u"})
	n.do(act.Act{Kind: act.Mount, Dev: "/dev/md/grove", Type: "xfs", On: "/data", Options: []string{"noatime"}})
	want := "hostname \nmount /dev/md/grove on /data type xfs read-only false\nfolder /data ---------- 0:0\nmodule /m/md.ko\nmodule /m/raid1.ko\nmodule /m/xfs.ko\n"
	if got := strings.ReplaceAll(n.machine.String(), n.root, ""); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Our own half-finished file system that holds a file was in use, whatever the journal says.
func TestFileSystemWithFilesIsNotMadeAnew(t *testing.T) {
	a := act.Act{Kind: act.MakeFS, Type: "xfs", Dev: "/dev/vdb", UUID: "u", Redo: true}
	for files, want := range map[string]string{"lost+found": "", ".grove-complete": "", "WiredTiger": "it holds WiredTiger"} {
		n := newNode(t)
		n.file("run/grove/look/"+files, "")
		if got := n.do(a); got != want || (len(n.ran) == 1) != (want == "") {
			t.Errorf("with %s: got %q, ran %v", files, got, n.ran)
		}
		if strings.Contains(n.machine.String(), "mount ") {
			t.Errorf("with %s: it is still mounted", files)
		}
	}
	n := newNode(t)
	n.machine.Broken = map[string]error{"/dev/vdb": os.ErrInvalid} // does not mount: what a cut-off mkfs leaves
	if got := n.do(a); got != "" || len(n.ran) != 1 {
		t.Errorf("got %q, ran %v", got, n.ran)
	}
}

func TestSeal(t *testing.T) {
	seal := act.Seal{Cluster: "demo", Node: "db1", UUIDs: map[string]string{"fs-data": "u"}}
	write := act.Act{Kind: act.SealFS, Dev: "/data", Seal: &seal}
	check := act.Act{Kind: act.CheckSeal, Dev: "/data", Seal: &seal}
	n := newNode(t)
	n.file("data/lost+found/x", "")
	if got := n.do(check); !strings.Contains(got, "no such file") {
		t.Errorf("read before it is written: got %q", got)
	}
	for _, a := range []act.Act{write, check, write} {
		if got := n.do(a); got != "" {
			t.Errorf("%s: got %q", a.Kind, got)
		}
	}
	other := seal
	other.Node = "db2"
	if got, want := n.do(act.Act{Kind: act.SealFS, Dev: "/data", Seal: &other}), "read the seal: it is of demo/db1 with UUID u, want demo/db2 with u"; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
	used := newNode(t)
	used.file("data/mongod.lock", "")
	if got, want := used.do(write), "it holds mongod.lock, and no seal of this node"; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestLink(t *testing.T) {
	n := newNode(t)
	n.file("data/x", "")
	a := act.Act{Kind: act.Link, Dev: "/data/journal", On: "/journal"}
	for range 2 {
		if got := n.do(a); got != "" {
			t.Errorf("got %q", got)
		}
	}
	if got, err := os.Readlink(n.root + "/data/journal"); got != "/journal" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	a.On = "/elsewhere"
	if got, want := n.do(a), "have a link to /journal"; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
	n.file("data/folder/x", "")
	a.Dev = "/data/folder"
	if got := n.do(a); got == "" {
		t.Error("a folder in the way was passed over")
	}
}

// The table is judged by sfdisk.
func TestTableOfAStick(t *testing.T) {
	n := newNode(t)
	file := n.root + "/dev/vdb"
	n.file("dev/vdb", "")
	if err := os.Truncate(file, 64<<20); err != nil {
		t.Fatal(err)
	}
	if got := n.do(act.Act{Kind: act.MakeTable, Dev: "/dev/vdb", UUID: "a90e60d6", Size: 64*size.MiB + 512}); got != "" || len(n.ran) != 1 || n.ran[0] != "/usr/sbin/blockdev --rereadpt /dev/vdb" {
		t.Fatalf("got %q, ran %v", got, n.ran)
	}
	out, err := exec.Command("sfdisk", "--dump", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"label: dos", "label-id: 0xa90e60d6", "start=        8192, size=      122880, type=82"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	if _, err := mbr("xyz", 64*size.MiB); err == nil {
		t.Error("an identifier of letters was taken")
	}
	if _, err := mbr("a90e60d6", 4*size.MiB); err == nil {
		t.Error("a stick of 4 MiB was taken")
	}
}

func TestSwapfile(t *testing.T) {
	n := newNode(t)
	if got := n.do(act.Act{Kind: act.MakeSwapfile, Dev: "/state/grove/swap", Size: size.MiB, UUID: "u", Label: "db1"}); got != "" {
		t.Fatal(got)
	}
	if got := Swapfile(n.root + "/state/grove/swap"); got != size.MiB || n.ran[0] != "/usr/sbin/mkswap -U u -L db1 /state/grove/swap.new" {
		t.Errorf("got %s, ran %v", got, n.ran)
	}
	if got := Swapfile(n.root + "/none"); got != 0 {
		t.Errorf("without a file: got %s", got)
	}
}

func TestZramGetsItsSizeOnce(t *testing.T) {
	n := newNode(t)
	file := n.root + "/sys/block/zram0/disksize"
	n.file("sys/block/zram0/disksize", "0\n")
	a := act.Act{Kind: act.MakeZram, Dev: "/dev/zram0", Size: size.GiB, UUID: "u", Label: "db1"}
	if got := n.do(a); got != "" {
		t.Fatal(got)
	}
	if data, err := os.ReadFile(file); string(data) != "1073741824" || err != nil {
		t.Errorf("got %s, %v", data, err)
	}
	if err := os.Chmod(file, 0o400); err != nil {
		t.Fatal(err)
	}
	if got := n.do(a); got != "" {
		t.Errorf("the second time: got %q", got)
	}
}
