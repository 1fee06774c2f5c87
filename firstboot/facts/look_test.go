package facts

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/firstboot/facts/sysfs/sysfstest"
	"grove/internal/host"
	"grove/internal/size"
)

// machine is one of files: its disks are sparse ones with what the real tools wrote, its blkid and wipefs are this machine's.
type machine struct {
	t    *testing.T
	root string
	fake *host.FakeMachine

	mu    sync.Mutex
	asked map[string]bool // devices that a program was run for
}

func newMachine(t *testing.T) *machine {
	n := &machine{t: t, root: t.TempDir(), asked: map[string]bool{}}
	n.fake = &host.FakeMachine{Taken: map[string]bool{}, Programs: func(c host.Command) (string, error) {
		n.mu.Lock()
		n.asked[filepath.Base(c.Args[len(c.Args)-1])] = true
		n.mu.Unlock()
		out, err := host.Real{}.Run(t.Context(), c)
		return string(out), err
	}}
	sysfstest.Set(t, n.root, `/proc/self/mountinfo = ""`)
	return n
}

// disk makes /dev/NAME of this length with data at places of it.
func (n *machine) disk(name string, length size.Size, data map[int64][]byte) {
	n.t.Helper()
	dir := "/sys/devices/virtio" + name + "/block/" + name
	sysfstest.Set(n.t, n.root, fmt.Sprintf(`%s/size = "%d\n"`, dir, length/512))
	sysfstest.Set(n.t, n.root, fmt.Sprintf(`%s/serial = "S-%s"`, dir, name))
	sysfstest.Set(n.t, n.root, dir+"/device -> ../..")
	sysfstest.Set(n.t, n.root, "/sys/devices/virtio"+name+"/subsystem -> ../../bus/virtio")
	sysfstest.Set(n.t, n.root, "/sys/block/"+name+" -> ../devices/virtio"+name+"/block/"+name)
	n.device(name, length, data)
}

func (n *machine) device(name string, length size.Size, data map[int64][]byte) {
	n.t.Helper()
	if err := os.MkdirAll(n.root+"/dev", 0o755); err != nil {
		n.t.Fatal(err)
	}
	f, err := os.Create(n.root + "/dev/" + name)
	if err != nil {
		n.t.Fatal(err)
	}
	defer f.Close()
	for at, b := range data {
		if _, err := f.WriteAt(b, at); err != nil {
			n.t.Fatal(err)
		}
	}
	if err := f.Truncate(int64(length)); err != nil {
		n.t.Fatal(err)
	}
}

// recorded is the start of a device as package superblock's tests have it.
func (n *machine) recorded(name string) map[int64][]byte {
	n.t.Helper()
	f, err := os.Open("superblock/testdata/" + name + ".gz")
	if err != nil {
		n.t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		n.t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		n.t.Fatal(err)
	}
	return map[int64][]byte{0: data}
}

// hash is that of all disks.
func (n *machine) hash() string {
	h := sha256.New()
	files, _ := filepath.Glob(n.root + "/dev/*")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			n.t.Fatal(err)
		}
		h.Write(data)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// look gives a line a disk: `vdb blank: nothing known ...`.
func (n *machine) look(who Who) (Have, string) {
	n.t.Helper()
	have, err := Look(n.t.Context(), n.fake, n.root)
	if err != nil {
		n.t.Fatal(err)
	}
	have.Disks = Classify(have, who)
	var b strings.Builder
	for _, d := range have.Disks {
		fmt.Fprintf(&b, "%s %s: %s\n", d.Name, d.Class, strings.ReplaceAll(strings.Join(d.Evidence, "; "), n.root, ""))
	}
	return have, b.String()
}

func TestLookAtEveryKindOfDisk(t *testing.T) {
	n := newMachine(t)
	noise := make([]byte, 20<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	both := n.recorded("ext4")
	copy(both[0], n.recorded("xfs")[0][:512])
	n.disk("vda", 4*size.MiB, n.recorded("gpt"))
	n.disk("vdb", 64*size.MiB, nil)
	n.disk("vdc", 64*size.MiB, n.recorded("ext4"))
	n.disk("vdd", 64*size.MiB, n.recorded("xfs"))
	n.disk("vde", 64*size.MiB, n.recorded("ntfs"))
	n.disk("vdf", 64*size.MiB, n.recorded("luks2"))
	n.disk("vdg", 64*size.MiB, n.recorded("btrfs"))
	n.disk("vdh", 64*size.MiB, n.recorded("swap"))
	n.disk("vdi", 64*size.MiB, n.recorded("md-vdd"))
	n.disk("vdj", 64*size.MiB, n.recorded("pv"))
	n.disk("vdk", 64*size.MiB, n.recorded("group"))
	n.disk("vdl", 20*size.MiB, map[int64][]byte{0: noise})
	n.disk("vdm", 64*size.MiB, map[int64][]byte{31 << 20: noise[:2<<20]})
	n.disk("vdn", 64*size.MiB, both)
	n.disk("vdo", 64*size.MiB, n.recorded("vfat"))
	n.disk("vdp", 4*size.MiB, n.recorded("dos"))
	n.disk("vdq", 64*size.MiB, nil)
	if err := os.Remove(n.root + "/dev/vdq"); err != nil {
		t.Fatal(err)
	}
	before := n.hash()
	_, got := n.look(Who{Identity: db7, Medium: "01234567-89ab-4def-8123-456789abcdef"})
	want := `vda system: carries the image that the node was booted from, GPT 01234567-89ab-4def-8123-456789abcdef
vdb blank: nothing known on it, and zero wherever it was read
vdc foreign: ext4, label data, UUID 01234567-89ab-4def-8123-456789abcdef
vdd foreign: xfs, label data, UUID 01234567-89ab-4def-8123-456789abcdef
vde foreign: ntfs, label WIN, UUID 26E87E7627D80809
vdf foreign: LUKS encryption, UUID 01234567-89ab-4def-8123-456789abcdef
vdg foreign: btrfs, label b, UUID 01234567-89ab-4def-8123-456789abcdef
vdh foreign: swap, label swap1, UUID 01234567-89ab-4def-8123-456789abcdef
vdi foreign: member 2 of 4 of the raid10 "prod_db7", UUID 01234567-89ab-8def-8123-456789abcdef
vdj foreign: LVM physical volume, UUID 223456-89ab-8def-8123-4567-89ab-cdef01, of no volume group
vdk foreign: LVM physical volume, UUID 123456-89ab-8def-8123-4567-89ab-cdef01, of volume group grove, tags grove_cluster_prod grove_node_db7
vdl foreign: not zero at DATA, nothing known there
vdm foreign: not zero at DATA, nothing known there
vdn foreign: ext4, label data, UUID 01234567-89ab-4def-8123-456789abcdef; signatures: xfs at 0x0, ext4 at 0x438; they exclude each other: nobody can say what it is
vdo foreign: vfat, label FATTY, UUID FAT
vdp foreign: MBR with 0 partitions
vdq foreign: cannot be looked at: open /dev/vdq: no such file or directory
`
	var lines []string
	for line := range strings.Lines(got) {
		if at := strings.Index(line, "not zero at "); at > 0 { // the first one that was met, not the first on the disk
			line = line[:at] + "not zero at DATA" + line[strings.Index(line, ","):]
		}
		if at := strings.Index(line, "UUID "); strings.HasPrefix(line, "vdo") && at > 0 {
			line = line[:at] + "UUID FAT\n"
		}
		lines = append(lines, line)
	}
	if diff := cmp.Diff(want, strings.Join(lines, "")); diff != "" {
		t.Error(diff)
	}
	if after := n.hash(); after != before {
		t.Error("looking has written to a disk")
	}
	// blkid and wipefs have the last word on what looks empty, and are spared what does not.
	for _, name := range []string{"vdb", "vde", "vdg", "vdl", "vdm", "vdn", "vdo"} {
		if !n.asked[name] {
			t.Errorf("%s: no program was asked", name)
		}
		delete(n.asked, name)
	}
	if len(n.asked) > 0 {
		t.Errorf("programs were run for %v", n.asked)
	}
}

// The record is of an array and its volumes in QEMU; the disk's own content is another record with its UUID.
func TestLookAtAnArrayWithVolumes(t *testing.T) {
	n := newMachine(t)
	sysfstest.Plant(t, n.root, "sysfs/testdata/raid10.sys")
	for _, name := range []string{"vdc", "vdd", "vde", "vdf"} {
		record := "md-" + name
		if name == "vdf" {
			record = "md-vdd"
		}
		n.disk(name, 128*size.MiB, n.recorded(record))
		sysfstest.Set(t, n.root, "/sys/block/"+name+"/holders/md127 -> ../md127")
	}
	n.device("md127", 254*size.MiB, n.recorded("group"))
	n.device("md126", 127*size.MiB, nil)
	n.device("dm-0", 224*size.MiB, n.recorded("xfs"))
	n.device("dm-1", 12*size.MiB, nil)
	have, _ := n.look(Who{Identity: db7})
	ofGroup := Content{Type: "LVM2_member", UUID: "123456-89ab-8def-8123-4567-89ab-cdef01", Signatures: []string{"LVM2_member at 0x218"}, Group: "grove", GroupID: "zOwy2f-44fQ-jKFE-qaoJ-MLTm-k7MG-5k0WDW"}
	arrays := []Array{
		{Name: "md126", Dev: "/dev/md126", State: "clean", UUID: "cf67b775-cb82-c266-4f44-e256156cde6d", Level: "raid1", Disks: 2, Working: 2, Members: []string{"vdg", "vdh"}, Sync: "idle", Done: "none",
			Size: 127 * size.MiB, Content: Content{Sampled: true}},
		{Name: "md127", Dev: "/dev/md127", State: "clean", UUID: "01234567-89ab-8def-8123-456789abcdef", Level: "raid10", Disks: 4, Working: 3, Members: []string{"vdc", "vdd", "vdf"}, Faulty: []string{"vde"},
			Degraded: true, Sync: "idle", Done: "none", Size: 254 * size.MiB, Content: ofGroup},
	}
	for n2 := range have.Arrays {
		have.Arrays[n2].Dev = strings.TrimPrefix(have.Arrays[n2].Dev, n.root)
	}
	if diff := cmp.Diff(arrays, have.Arrays); diff != "" {
		t.Error(diff)
	}
	groups := []Group{{Name: "grove", UUID: ofGroup.GroupID, Tags: []string{"grove_cluster_prod", "grove_node_db7"}, Size: 252 * size.MiB, Free: 16 * size.MiB, Devices: []string{n.root + "/dev/md127"}}}
	if diff := cmp.Diff(groups, have.Groups); diff != "" {
		t.Error(diff)
	}
	volumes := []Volume{
		{Name: "data", Group: "grove", GroupID: ofGroup.GroupID, Dev: n.root + "/dev/grove/data", Kernel: "dm-0", Size: 224 * size.MiB, Active: true,
			Content: Content{Type: "xfs", UUID: "01234567-89ab-4def-8123-456789abcdef", Label: "data", Signatures: []string{"xfs at 0x0"}}},
		{Name: "log", Group: "grove", GroupID: ofGroup.GroupID, Dev: n.root + "/dev/grove/log", Kernel: "dm-1", Size: 12 * size.MiB, Active: true, Content: Content{Sampled: true}},
	}
	if diff := cmp.Diff(volumes, have.Volumes); diff != "" {
		t.Error(diff)
	}
	for _, d := range have.Disks {
		if d.Class != Busy || !slices.Equal(d.Holders, []string{"dm-0", "dm-1", "md127"}) {
			t.Errorf("%s: got %s, held by %q", d.Name, d.Class, d.Holders)
		}
	}
}

// A disk that somebody has for themselves is not free, whatever is on it: nothing is run for it.
func TestAHeldDiskCostsNothing(t *testing.T) {
	n := newMachine(t)
	n.disk("vdb", 64*size.MiB, nil)
	n.fake.Taken[n.root+"/dev/vdb"] = true
	have, got := n.look(Who{Identity: db7})
	if want := "vdb busy: somebody has it open for themselves; nothing known on it, and not looked at any closer\n"; got != want || len(n.asked) > 0 || have.Disks[0].Content.Blank() {
		t.Errorf("got %s, asked about %v", got, n.asked)
	}
}

func TestProgramsThatFailNeverMakeADiskBlank(t *testing.T) {
	for name, programs := range map[string]func(host.Command) (string, error){
		"they are not there": func(c host.Command) (string, error) { return "", fmt.Errorf("run %s: %w", c.Path, os.ErrNotExist) },
		"they are killed":    func(c host.Command) (string, error) { return "", &host.Exit{Command: c.String(), Code: -1} },
		"one says nothing, the other fails": func(c host.Command) (string, error) {
			if strings.HasSuffix(c.Path, "blkid") {
				return "", &host.Exit{Command: c.String(), Code: 2}
			}
			return "", &host.Exit{Command: c.String(), Code: 1}
		},
	} {
		n := newMachine(t)
		n.disk("vdb", 64*size.MiB, nil)
		n.fake.Programs = programs
		have, got := n.look(Who{Identity: db7})
		if have.Disks[0].Class != Foreign || !strings.HasPrefix(got, "vdb foreign: cannot be looked at: ") {
			t.Errorf("%s: got %s", name, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := newMachine(t)
	n.disk("vdb", 64*size.MiB, nil)
	if have, err := Look(ctx, n.fake, n.root); !errors.Is(err, context.Canceled) || len(have.Disks) > 0 && have.Disks[0].Content.Blank() {
		t.Errorf("called off: got %+v, %v", have.Disks, err)
	}
}

func TestDisksAreNamedByWhatNitroSays(t *testing.T) {
	root := t.TempDir()
	sysfstest.Plant(t, root, "sysfs/testdata/nitro.sys")
	identify := func(name string) []byte {
		data := make([]byte, 4096)
		data[0], data[1] = 0x0f, 0x1d
		copy(data[3072:], name+strings.Repeat(" ", 32))
		return data
	}
	fake := &host.FakeMachine{NVMe: map[string][]byte{root + "/dev/nvme0n1": identify("/dev/xvda"), root + "/dev/nvme1n1": identify("sdb")}}
	disks, _, err := Disks(fake, root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range disks {
		got = append(got, strings.Join(d.Names, " ")+" "+d.EBS)
	}
	want := []string{"nvme0n1 xvda sda vol-0a1b2c3d4e5f60718", "nvme1n1 sdb xvdb vol-00112233445566778", "nvme2n1 "} // the third controller does not answer
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
