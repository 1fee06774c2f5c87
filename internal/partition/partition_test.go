package partition

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/size"
)

const (
	bios  = "21686148-6449-6e6f-744e-656564454649"
	esp   = "c12a7328-f81f-11d2-ba4b-00a0c93ec93b"
	linux = "0fc63daf-8483-4772-8e79-3d69d8477de4"
)

func sample() Table {
	id := func(n int) string { return fmt.Sprintf("00000000-0000-8000-8000-%012x", n) }
	return Table{Disk: id(0xabcdef), Size: 134 * size.MiB, Partitions: []Partition{
		{Number: 1, Name: "bios-boot", Type: bios, GUID: id(1), Start: 1 * size.MiB, Size: 1 * size.MiB},
		{Number: 2, Name: "GROVE-BOOT", Type: esp, GUID: id(2), Start: 4 * size.MiB, Size: 64 * size.MiB, Attributes: 4},
		{Number: 3, Name: "state", Type: linux, GUID: id(3), Start: 69 * size.MiB, Size: 64 * size.MiB},
	}}
}

// image is a file of the table's size, written with it.
func image(t *testing.T, table Table) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "disk"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Truncate(int64(table.Size)); err != nil {
		t.Fatal(err)
	}
	if err := Write(f, table); err != nil {
		t.Fatal(err)
	}
	return f
}

// judge asks sgdisk.
func judge(t *testing.T, f *os.File) string {
	t.Helper()
	out, err := exec.Command("sgdisk", "-v", "-p", f.Name()).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "No problems found") || strings.Contains(string(out), "Warning") {
		t.Errorf("sgdisk -v: %v\n%s", err, out)
	}
	return string(out)
}

func TestWrittenTableIsReadBackAndSgdiskIsContent(t *testing.T) {
	want := sample()
	f := image(t, want)
	got, err := Read(f, want.Size)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, word := range []string{"bios-boot", "GROVE-BOOT", "state", "00000000-0000-8000-8000-000000ABCDEF"} {
		if out := judge(t, f); !strings.Contains(out, word) {
			t.Errorf("sgdisk -p lacks %s:\n%s", word, out)
		}
	}
}

func TestWriteIsDeterministicAndLeavesBootCode(t *testing.T) {
	f, g := image(t, sample()), image(t, sample())
	code := bytes.Repeat([]byte{0x5a}, 440)
	if _, err := f.WriteAt(code, 0); err != nil {
		t.Fatal(err)
	}
	if err := Write(f, sample()); err != nil {
		t.Fatal(err)
	}
	a, _ := os.ReadFile(f.Name())
	b, _ := os.ReadFile(g.Name())
	if !bytes.Equal(a[:440], code) || !bytes.Equal(a[440:], b[440:]) {
		t.Error("want the boot code kept and all else equal")
	}
}

func TestCheckFindsWhatGoDiskfsWouldWrite(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"overlap", func(t *Table) { t.Partitions[2].Start = 67 * size.MiB }, "state: overlaps GROVE-BOOT: starts at 67MiB, which ends at 68MiB"},
		{"past the end", func(t *Table) { t.Partitions[2].Size = 65 * size.MiB }, "state: ends at 134MiB, that is 16.5 KiB too far"},
		{"one sector into the backup", func(t *Table) { t.Partitions[2].Size = 65*size.MiB - 32*sector }, "that is 512 B too far"},
		{"unaligned", func(t *Table) { t.Partitions[1].Start += 4096 }, "GROVE-BOOT: starts at 4100KiB, want a multiple of 1MiB"},
		{"at 0", func(t *Table) { t.Partitions[0].Start = 0 }, "bios-boot: starts at 0"},
		{"empty", func(t *Table) { t.Partitions[0].Size = 0 }, "bios-boot: size 0"},
		{"name of 37 units", func(t *Table) { t.Partitions[0].Name = strings.Repeat("x", 37) }, "37 UTF-16 units"},
		{"name of 19 pairs", func(t *Table) { t.Partitions[0].Name = strings.Repeat("😀", 19) }, "38 UTF-16 units"},
		{"same GUID in another case", func(t *Table) { t.Partitions[0].GUID = strings.ToUpper(t.Disk) }, "bios-boot: has the GUID of the disk"},
		{"same number", func(t *Table) { t.Partitions[2].Number = 1 }, "state: has the number of bios-boot: 1"},
		{"bad type", func(t *Table) { t.Partitions[0].Type = "ef02" }, `bios-boot: type and GUID: want 8-4-4-4-12 hex digits, have "ef02"`},
		{"bad disk", func(t *Table) { t.Disk = "" }, "disk GUID: want"},
		{"odd medium", func(t *Table) { t.Size++ }, "size of the medium"},
	}
	for _, test := range tests {
		table := sample()
		test.change(&table)
		wrote := false
		err := Write(writerFunc(func([]byte, int64) (int, error) { wrote = true; return 0, io.ErrShortWrite }), table)
		if err == nil || !strings.Contains(err.Error(), test.want) || wrote {
			t.Errorf("%s: got %v, written: %v; want %q and nothing written", test.name, err, wrote, test.want)
		}
	}
	if err := sample().Check(); err != nil {
		t.Error(err)
	}
}

type writerFunc func([]byte, int64) (int, error)

func (f writerFunc) WriteAt(b []byte, off int64) (int, error) { return f(b, off) }

func TestGrowFillsTheMediumOnce(t *testing.T) {
	f := image(t, sample())
	medium := 3*size.GiB + 12345
	if err := f.Truncate(int64(medium)); err != nil {
		t.Fatal(err)
	}
	table, err := Read(f, medium)
	if err != nil {
		t.Fatal(err)
	}
	grown, changed, err := Grow(table, medium)
	if err != nil || !changed {
		t.Fatalf("got changed %v, %v", changed, err)
	}
	if err := Write(f, grown); err != nil {
		t.Fatal(err)
	}
	again, err := Read(f, medium)
	if err != nil {
		t.Fatal(err)
	}
	state, _ := again.Find("state")
	if want := 3*size.GiB - 70*size.MiB; state.Size != want || state.Start != 69*size.MiB {
		t.Errorf("state has %s from %s, want %s from 69MiB", state.Size, state.Start, want)
	}
	if _, changed, err := Grow(again, medium); changed || err != nil {
		t.Errorf("second time: got changed %v, %v; want nothing to do", changed, err)
	}
	if err := f.Truncate(int64(medium / 512 * 512)); err != nil { // sgdisk wants whole sectors of a file
		t.Fatal(err)
	}
	judge(t, f)
}

func TestGrowLeavesAFullMediumAndRefusesASmallerOne(t *testing.T) {
	if got, changed, err := Grow(sample(), sample().Size); changed || err != nil || !cmp.Equal(got, sample()) {
		t.Errorf("same size: got changed %v, %v", changed, err)
	}
	if _, _, err := Grow(sample(), sample().Size-size.MiB); err == nil || !strings.Contains(err.Error(), "the medium has 133 MiB, the table is for 134 MiB") {
		t.Errorf("smaller: got %v", err)
	}
	huge, changed, err := Grow(sample(), 4*size.TiB)
	if err != nil || !changed || huge.Check() != nil {
		t.Errorf("4 TiB: got changed %v, %v, %v", changed, err, huge.Check())
	}
}

func TestMediumOfMoreThan2TiBIsProtectedWhole(t *testing.T) {
	table, _, _ := Grow(sample(), 4*size.TiB)
	f := image(t, table)
	judge(t, f)
	mbr := make([]byte, 512)
	if _, err := f.ReadAt(mbr, 0); err != nil {
		t.Fatal(err)
	}
	if got := mbr[446+12 : 446+16]; !bytes.Equal(got, []byte{255, 255, 255, 255}) {
		t.Errorf("protective MBR has % x sectors, want ff ff ff ff", got)
	}
}

// cut passes on a number of writes and fails the next part of the way, as a power cut does.
type cut struct {
	f    *os.File
	left int
}

var errCut = errors.New("power cut")

func (c *cut) WriteAt(b []byte, off int64) (int, error) {
	if c.left == 0 {
		c.f.WriteAt(b[:len(b)/8], off)
		return len(b) / 8, errCut
	}
	c.left--
	return c.f.WriteAt(b, off)
}

func TestGrowSurvivesAPowerCutAtEachWrite(t *testing.T) {
	medium := 300 * size.MiB
	for cuts := 0; ; cuts++ {
		f := image(t, sample())
		if err := f.Truncate(int64(medium)); err != nil {
			t.Fatal(err)
		}
		grown, _, _ := Grow(sample(), medium)
		err := Write(&cut{f, cuts}, grown)
		if err == nil {
			if cuts < 5 {
				t.Errorf("a table took %d writes, want the MBR and 4 more", cuts)
			}
			return
		}
		if !strings.Contains(err.Error(), errCut.Error()) {
			t.Fatal(err)
		}
		found, err := Read(f, medium)
		if err != nil {
			t.Fatalf("cut at write %d: %v", cuts, err)
		}
		again, changed, err := Grow(found, medium)
		if err != nil || !changed || !cmp.Equal(again, grown) {
			t.Errorf("cut at write %d: grow again: changed %v, %v\n%s", cuts, changed, err, cmp.Diff(grown, again))
		}
		if err := Write(f, again); err != nil {
			t.Fatal(err)
		}
		judge(t, f)
	}
}

func TestReadFallsBackToTheBackup(t *testing.T) {
	for name, off := range map[string]int64{"header": 512 + 60, "entries": 1024 + 40, "signature": 512} {
		f := image(t, sample())
		if _, err := f.WriteAt([]byte{0xee}, off); err != nil {
			t.Fatal(err)
		}
		want := sample()
		want.FromBackup = true
		got, err := Read(f, want.Size)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s damaged: %v\n%s", name, err, diff)
		}
		mended, changed, err := Grow(got, got.Size)
		if err != nil || !changed {
			t.Fatalf("%s damaged: grow: changed %v, %v", name, changed, err)
		}
		if err := Write(f, mended); err != nil {
			t.Fatal(err)
		}
		judge(t, f)
	}
}

func TestReadRefusesWhatIsNoTable(t *testing.T) {
	for name, disk := range map[string][]byte{"empty": nil, "half a sector": make([]byte, 300), "zeros": make([]byte, 1<<20)} {
		if got, err := Read(bytes.NewReader(disk), size.Size(len(disk))); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}

func FuzzReadBelievesNothing(f *testing.F) {
	disk := make([]byte, 70<<10)
	Write(writerFunc(func(b []byte, off int64) (int, error) {
		if int(off)+len(b) <= len(disk) {
			copy(disk[off:], b)
		}
		return len(b), nil
	}), sample())
	for _, at := range []int{0, 12, 24, 32, 72, 80, 84, 512 + 32} {
		f.Add(at, []byte{255, 255, 255, 255})
	}
	f.Fuzz(func(t *testing.T, at int, b []byte) {
		damaged := bytes.Clone(disk)
		copy(damaged[512+max(0, min(at, 16<<10)):], b)
		sum(damaged[512:]) // the header's, so that it is believed
		if table, err := Read(bytes.NewReader(damaged), size.Size(len(damaged))); err == nil && len(table.Partitions) > 1024 {
			t.Errorf("got %d partitions", len(table.Partitions))
		}
	})
}

func sum(header []byte) {
	clear(header[16:20])
	binary.LittleEndian.PutUint32(header[16:], crc32.ChecksumIEEE(header[:92]))
}
