package superblock

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/size"
)

// The records are the starts of devices as the tools of Debian 12 and 13 made them: mke2fs, mkfs.xfs, mkswap, cryptsetup, sgdisk, sfdisk, mkfs.vfat, mkntfs and
// mkfs.btrfs on plain files; mdadm (level 10 on four disks, the third set faulty later) and LVM in QEMU.
var records = map[string]size.Size{
	"ext4": 64 * size.MiB, "ext3": 64 * size.MiB, "ext2": 64 * size.MiB, "xfs": 320 * size.MiB, "swap": 64 * size.MiB, "luks2": 64 * size.MiB, "gpt": 4 * size.MiB, "dos": 4 * size.MiB,
	"vfat": 64 * size.MiB, "ntfs": 64 * size.MiB, "btrfs": 128 * size.MiB, "md-vdc": 128 * size.MiB, "md-vdd": 128 * size.MiB, "md-vde": 128 * size.MiB, "pv": 128 * size.MiB,
	"group": 254 * size.MiB,
}

func record(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// device is a sparse file of the record's whole length.
func device(t testing.TB, name string, data []byte) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(int64(records[name])); err != nil {
		t.Fatal(err)
	}
	return f
}

const uuid = "01234567-89ab-4def-8123-456789abcdef"

func TestRead(t *testing.T) {
	member := func(role int, events uint64) Device {
		return Device{Found: []Found{{Type: "linux_raid_member", Offset: 0x1000, UUID: "01234567-89ab-8def-8123-456789abcdef", Label: "prod_db7",
			Member: &Member{Name: "prod_db7", Host: "any", Level: "raid10", Disks: 4, Role: role, Events: events, Synced: true}}}}
	}
	for name, want := range map[string]Device{
		"ext4":   {Found: []Found{{Type: "ext4", Offset: 0x438, UUID: uuid, Label: "data"}}},
		"ext3":   {Found: []Found{{Type: "ext3", Offset: 0x438, UUID: uuid, Label: "old3"}}},
		"ext2":   {Found: []Found{{Type: "ext2", Offset: 0x438, UUID: uuid}}},
		"xfs":    {Found: []Found{{Type: "xfs", UUID: uuid, Label: "data"}}},
		"swap":   {Found: []Found{{Type: "swap", Offset: 0xff6, UUID: uuid, Label: "swap1"}}},
		"luks2":  {Found: []Found{{Type: "crypto_LUKS", UUID: uuid, Label: "secret"}}},
		"md-vdc": member(0, 5), "md-vdd": member(1, 5), "md-vde": member(2, 2), // the faulty one's own superblock is the last that was written to it
		"pv": {Found: []Found{{Type: "LVM2_member", Offset: 0x218, UUID: "223456-89ab-8def-8123-4567-89ab-cdef01"}}},
		"group": {Found: []Found{{Type: "LVM2_member", Offset: 0x218, UUID: "123456-89ab-8def-8123-4567-89ab-cdef01", Group: &Group{
			Name: "grove", UUID: "zOwy2f-44fQ-jKFE-qaoJ-MLTm-k7MG-5k0WDW", Sequence: 3, Tags: []string{"grove_cluster_prod", "grove_node_db7"},
			Size: 252 * size.MiB, Free: 16 * size.MiB, PVs: []string{"123456-89ab-8def-8123-4567-89ab-cdef01"},
			Volumes: []Volume{{"data", "J08jFX-X0Ne-PA4h-jwjN-YMEf-G4ET-AAts0f", 224 * size.MiB}, {"log", "rjndx1-O0MT-GP88-6lO1-tRDm-eAVQ-st1Y68", 12 * size.MiB}}}}}},
		"gpt": {Table: &Table{Kind: "gpt", ID: uuid, Parts: []Part{
			{1, "0fc63daf-8483-4772-8e79-3d69d8477de4", "11111111-2222-4333-8444-555555555555", "first"},
			{2, "a19d880f-05fc-4d3b-a006-743f0f84911e", "11111111-2222-4333-8444-666666666666", ""}}}},
		"dos":  {Table: &Table{Kind: "dos", ID: "12abcdef", Parts: []Part{{1, "0x82", "12abcdef-01", ""}, {2, "0x83", "12abcdef-02", ""}}}},
		"vfat": {}, "ntfs": {}, "btrfs": {}, // blkid's
	} {
		got, err := Read(device(t, name, record(t, name)), records[name])
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// What is read must be what blkid reads of the same bytes, where it is anything at all.
func TestBlkidAgrees(t *testing.T) {
	blkid, err := exec.LookPath("/usr/sbin/blkid")
	if err != nil {
		t.Fatalf("%v: run scripts/setup-host", err)
	}
	for name := range records {
		f := device(t, name, record(t, name))
		out, err := exec.Command(blkid, "-p", "-o", "export", f.Name()).Output()
		if err != nil {
			t.Fatalf("%s: blkid: %v", name, err)
		}
		theirs := map[string]string{}
		for line := range strings.Lines(string(out)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			theirs[key] = value
		}
		d, err := Read(f, records[name])
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range d.Found {
			label := theirs["LABEL"]
			if _, after, found := strings.Cut(label, ":"); found {
				label = after
			}
			if got.Type != theirs["TYPE"] || got.UUID != theirs["UUID"] || got.Label != label {
				t.Errorf("%s: got %+v; blkid says %v", name, got, theirs)
			}
		}
		if d.Table != nil && (d.Table.Kind != theirs["PTTYPE"] || d.Table.ID != theirs["PTUUID"]) {
			t.Errorf("%s: got %+v; blkid says %v", name, d.Table, theirs)
		}
	}
}

func TestNothingIsBelievedWithoutItsChecksum(t *testing.T) {
	for _, c := range []struct {
		name string
		at   int
		want string // what is left of it
	}{
		{"md-vdc", 4096 + 93, ""}, {"md-vdc", 4096 + 256, ""}, {"pv", 512 + 40, ""}, {"group", 4096 + 30, "LVM2_member"}, {"group", 4096 + 3600, "LVM2_member"},
	} {
		data := record(t, c.name)
		data[c.at] ^= 0xff
		d, err := Read(device(t, c.name, data), records[c.name])
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for _, f := range d.Found {
			got = f.Type
			if f.Group != nil && c.at < 4096+512 {
				t.Errorf("%s with byte %d changed: got group %+v", c.name, c.at, f.Group)
			}
		}
		if got != c.want {
			t.Errorf("%s with byte %d changed: got %q; want %q", c.name, c.at, got, c.want)
		}
	}
}

func TestWhatElseIsThereIsSeen(t *testing.T) {
	for _, c := range []struct {
		name  string
		at    int64
		put   []byte
		types string
		other bool
	}{
		{"md-vdc", 100, []byte("x"), "linux_raid_member", true},
		{"md-vdc", 0x438, []byte("\x53\xef"), "linux_raid_member ext2", false},
		{"pv", 0, []byte("boot"), "LVM2_member", true},
		{"ext4", 512, []byte("boot"), "ext4", true},
		{"ext4", 0, []byte("XFSB"), "ext4 xfs", false},
		{"swap", 0, []byte("LUKS\xba\xbe\x00\x01"), "swap crypto_LUKS", false},
		{"xfs", 126, []byte{1}, "xfs", false},
	} {
		f := device(t, c.name, record(t, c.name))
		if _, err := f.WriteAt(c.put, c.at); err != nil {
			t.Fatal(err)
		}
		d, err := Read(f, records[c.name])
		if err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, f := range d.Found {
			types = append(types, f.Type)
			if unfinished := c.at == 126; f.Unfinished != unfinished {
				t.Errorf("%s: unfinished %v", c.name, f.Unfinished)
			}
		}
		if got := strings.Join(types, " "); got != c.types || d.Other != c.other {
			t.Errorf("%s with %q at %d: got %s, other %v; want %s, %v", c.name, c.put, c.at, got, d.Other, c.types, c.other)
		}
	}
}

// The ring of the metadata goes on behind its header: the text is moved so that it begins 100 bytes before the end.
func TestMetadataOverTheEndOfTheRing(t *testing.T) {
	b := record(t, "group")
	h := b[4096:][:512]
	offset, length := int(h[40])|int(h[41])<<8, int(h[48])|int(h[49])<<8
	text := bytes.Clone(b[4096+offset:][:length])
	ring := append(append([]byte{}, h...), make([]byte, 4096-512)...)
	copy(ring[len(ring)-100:], text[:100])
	copy(ring[512:], text[100:])
	put := func(at, v int) { ring[at], ring[at+1] = byte(v), byte(v>>8) }
	put(40, len(ring)-100)
	sum := sumLVM(ring[4:512])
	for i := range 4 {
		ring[i] = byte(sum >> (8 * i))
	}
	g := readMetadata(bytes.NewReader(ring), area{0, int64(len(ring))})
	if g == nil || g.Name != "grove" || len(g.Volumes) != 2 {
		t.Errorf("got %+v", g)
	}
}

func TestTextOfMetadata(t *testing.T) {
	got := parse("# a comment } {\nvg {\n id = \"a\\\"b\"\n flags = [\"READ\", \"WRITE\"] # x\n n = 12\n empty = []\n sub { x=-1 sub {} } }\nversion = 1\n")
	want := section{"vg": section{"id": `a"b`, "flags": []string{"READ", "WRITE"}, "n": int64(12), "empty": []string(nil), "sub": section{"x": int64(-1), "sub": section{}}}, "version": int64(1)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDeviceThatDoesNotRead(t *testing.T) {
	if _, err := Read(broken{}, size.GiB); err == nil || err.Error() != "read the start of the device: input/output error" {
		t.Errorf("got %v", err)
	}
	if d, err := Read(bytes.NewReader(make([]byte, 512)), 512); err != nil || len(d.Found) > 0 || d.Table != nil {
		t.Errorf("a device of one sector: got %+v, %v", d, err)
	}
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, errors.New("input/output error") }

// Whatever lies on a disk, reading it ends, and what it gives can be printed.
func FuzzRead(f *testing.F) {
	for name := range records {
		if data := record(f, name); len(data) <= 64<<10 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Read(bytes.NewReader(data), size.Size(len(data)))
		if err != nil && len(data) >= head {
			t.Fatal(err)
		}
		for _, found := range d.Found {
			if strings.ContainsAny(found.Label+found.UUID, "\x00\n\r\x1b") {
				t.Errorf("%+q", found.Label)
			}
		}
	})
}

func FuzzTextOfMetadata(f *testing.F) {
	f.Add("vg { id = \"a\" l = [\"x\", 1] s { n = 1 } }")
	f.Add(strings.Repeat("a {", 20))
	f.Add("a = [ \"\\")
	f.Fuzz(func(_ *testing.T, text string) { group(parse(text)) })
}
