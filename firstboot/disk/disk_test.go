package disk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/host"
	"grove/internal/partition"
	"grove/internal/size"
)

const guid = "11111111-2222-8333-8444-555555555555"

// node is a folder that looks like a node with one disk: /dev and /sys as far as this package reads them. The state partition's device is a file with a
// real ext4 of half its size.
type node struct {
	t    *testing.T
	root string
}

func newNode(t *testing.T, image, medium size.Size) node {
	t.Helper()
	n := node{t, t.TempDir()}
	table := partition.Table{Disk: guid, Size: image, Partitions: []partition.Partition{
		{Number: 2, Name: Boot, Type: "c12a7328-f81f-11d2-ba4b-00a0c93ec93b", GUID: "22222222-2222-8333-8444-555555555555", Start: size.MiB, Size: 33 * size.MiB},
		{Number: 5, Name: State, Type: "0fc63daf-8483-4772-8e79-3d69d8477de4", GUID: "33333333-2222-8333-8444-555555555555", Start: 34 * size.MiB, Size: image - 35*size.MiB},
	}}
	f := n.file("dev/vda", "")
	for _, err := range []error{os.Truncate(f, int64(image)), n.open(f, func(d *os.File) error { return partition.Write(d, table) }), os.Truncate(f, int64(medium))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	n.kernelSees("vda", medium)
	n.kernelSees("vda/vda2", 33*size.MiB)
	n.kernelSees("vda/vda5", image-35*size.MiB)
	n.file("sys/class/block/vda/vda2/partition", "2\n")
	n.file("sys/class/block/vda/vda5/partition", "5\n")
	n.ext4(image - 35*size.MiB)
	return n
}

func (n node) file(name, text string) string {
	n.t.Helper()
	name = filepath.Join(n.root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
	return name
}

func (n node) open(name string, do func(*os.File) error) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(do(f), f.Close())
}

func (n node) kernelSees(name string, s size.Size) {
	n.file("sys/class/block/"+name+"/size", fmt.Sprintf("%d\n", s/512))
}

// ext4 makes the file system of the state partition this large.
func (n node) ext4(s size.Size) {
	n.t.Helper()
	f := n.file("dev/vda5", "")
	if err := os.Truncate(f, int64(s)); err != nil {
		n.t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-b", "4096", f).CombinedOutput(); err != nil {
		n.t.Fatalf("mkfs.ext4 (scripts/setup-host installs it): %v: %s", err, out)
	}
}

func (n node) find() Medium {
	n.t.Helper()
	m, seen, err := Find(n.root, strings.ToUpper(guid))
	if err != nil || m.Name != "vda" {
		n.t.Fatalf("got %q, %v, seen %s", m.Name, err, seen)
	}
	return m
}

func TestStateFillsTheMediumOnce(t *testing.T) {
	n := newNode(t, 64*size.MiB, 160*size.MiB)
	machine := &host.FakeMachine{}
	first, err := MountState(machine, n.find(), "/state")
	want := []string{"partition table of vda written anew for 160 MiB", "partition state grown from 29 MiB to 125 MiB"}
	if err != nil || len(first.Problems) > 0 || !slices.Equal(first.Did, want) {
		t.Fatalf("first: %+v, %v; want %q", first, err, want)
	}
	// What the kernel does when it is told.
	n.kernelSees("vda/vda5", 125*size.MiB)
	if out, err := exec.Command("sgdisk", "-v", filepath.Join(n.root, "dev/vda")).CombinedOutput(); err != nil || !strings.Contains(string(out), "No problems found") {
		t.Errorf("sgdisk: %v: %s", err, out)
	}
	machine.Restart()
	second, err := MountState(machine, n.find(), "/state")
	if want := []string{"ext4 grown from 29 MiB to 125 MiB"}; err != nil || !slices.Equal(second.Did, want) {
		t.Fatalf("after a loss of power between partition and file system: %+v, %v; want %q", second, err, want)
	}
	n.ext4(477 * size.MiB)
	before, after := digest(t, n), ""
	third, err := MountState(machine, n.find(), "/state")
	if after = digest(t, n); err != nil || len(third.Did) > 0 || before != after {
		t.Errorf("third: %+v, %v, disk changed: %v; want nothing done", third, err, before != after)
	}
	wantMachine := strings.ReplaceAll(`hostname 
mount ROOT/dev/vda5 on /state type ext4 read-only false
partition 5 resized: from 34MiB, 125MiB
ext4 on /state resized: 32000 blocks
`, "ROOT", n.root)
	if diff := cmp.Diff(wantMachine, machine.String()); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func digest(t *testing.T, n node) string {
	t.Helper()
	out, err := exec.Command("sha256sum", filepath.Join(n.root, "dev/vda")).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestKernelIsToldAgainWhenTheAgentEndedBeforeIt(t *testing.T) {
	n := newNode(t, 64*size.MiB, 160*size.MiB)
	m := n.find()
	grown, _, err := partition.Grow(m.Table, m.Size)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writeTable(m, grown); err != nil {
		t.Fatal(err)
	}
	got, err := MountState(&host.FakeMachine{}, n.find(), "/state")
	if want := []string{"partition state grown from 29 MiB to 125 MiB"}; err != nil || !slices.Equal(got.Did, want) {
		t.Errorf("got %+v, %v; want %q", got, err, want)
	}
}

func TestStateThatDoesNotMountIsLeftAlone(t *testing.T) {
	n := newNode(t, 64*size.MiB, 64*size.MiB)
	before := digest(t, n)
	machine := &host.FakeMachine{Broken: map[string]error{n.root + "/dev/vda5": errors.New("structure needs cleaning")}}
	_, err := MountState(machine, n.find(), "/state")
	if err == nil || !strings.HasSuffix(err.Error(), "vda5 on /state as ext4: structure needs cleaning") {
		t.Errorf("got %v", err)
	}
	if digest(t, n) != before {
		t.Error("the medium was written to")
	}
}

func TestFindSaysWhatItSees(t *testing.T) {
	n := newNode(t, 64*size.MiB, 64*size.MiB)
	n.file("dev/sda", strings.Repeat("\x00", 4096))
	n.kernelSees("sda", 4096)
	n.kernelSees("loop0", size.MiB)
	m, seen, err := Find(n.root, "99999999-2222-8333-8444-555555555555")
	if want := "sda (4 KiB, no GPT), vda (64 MiB, GPT " + guid + ")"; err != nil || m.Name != "" || seen.String() != want {
		t.Errorf("got %q, %v, seen %q; want %q", m.Name, err, seen, want)
	}
	if _, seen, _ := Find(t.TempDir(), guid); seen.String() != "no disk at all" {
		t.Errorf("got %q", seen)
	}
}

func TestFindRefusesTwoOfTheSame(t *testing.T) {
	n := newNode(t, 64*size.MiB, 64*size.MiB)
	data, err := os.ReadFile(filepath.Join(n.root, "dev/vda"))
	if err != nil {
		t.Fatal(err)
	}
	n.file("dev/vdb", string(data))
	n.kernelSees("vdb", 64*size.MiB)
	if _, _, err := Find(n.root, guid); err == nil || !strings.Contains(err.Error(), "vda and vdb carry the same image") {
		t.Errorf("got %v", err)
	}
}

func TestSuperblocksThatAreNone(t *testing.T) {
	for name, data := range map[string]string{"short": "x", "zeros": strings.Repeat("\x00", 4096)} {
		if got, err := readExt4(strings.NewReader(data)); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestAMediumWithAnMBRIsFoundAndFilled(t *testing.T) {
	n := node{t, t.TempDir()}
	const sig = "1a2b3c4d"
	table := partition.Table{Disk: sig, Size: 64 * size.MiB, Partitions: []partition.Partition{
		{Number: 1, Name: Boot, Type: partition.TypeFAT32, GUID: partition.PartUUID(sig, 1), Start: 4 * size.MiB, Size: 10 * size.MiB},
		{Number: 4, Name: State, Type: partition.TypeLinux, GUID: partition.PartUUID(sig, 4), Start: 34 * size.MiB, Size: 30 * size.MiB},
	}}
	f := n.file("dev/mmcblk0", "")
	for _, err := range []error{os.Truncate(f, int64(64*size.MiB)), n.open(f, func(d *os.File) error { return partition.Write(d, table) }), os.Truncate(f, int64(160*size.MiB))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	n.kernelSees("mmcblk0", 160*size.MiB)
	n.kernelSees("mmcblk0/mmcblk0p4", 30*size.MiB)
	n.file("sys/class/block/mmcblk0/mmcblk0p4/partition", "4\n")
	if err := os.Rename(newNode(t, 65*size.MiB, 65*size.MiB).root+"/dev/vda5", n.root+"/dev/mmcblk0p4"); err != nil {
		t.Fatal(err)
	}
	m, seen, err := Find(n.root, sig)
	if err != nil || m.Name != "mmcblk0" || seen.String() != "mmcblk0 (160 MiB, MBR "+sig+")" {
		t.Fatalf("got %q, %v, seen %s", m.Name, err, seen)
	}
	got, err := MountState(&host.FakeMachine{}, m, "/state")
	if want := []string{"partition table of mmcblk0 written anew for 160 MiB", "partition state grown from 30 MiB to 126 MiB"}; err != nil || !slices.Equal(got.Did, want) {
		t.Errorf("got %+v, %v; want %q", got, err, want)
	}
	if out, err := exec.Command("sfdisk", "--verify", f).CombinedOutput(); err != nil || !strings.Contains(string(out), "No errors detected.") {
		t.Errorf("sfdisk: %v: %s", err, out)
	}
	again, _, err := Find(n.root, sig)
	if err != nil || again.Table.Partitions[1].Size != 126*size.MiB {
		t.Errorf("got %+v, %v", again.Table, err)
	}
}
