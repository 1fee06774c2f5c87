package partition

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/size"
)

func sampleMBR() Table {
	const sig = "1a2b3c4d"
	t := Table{Disk: sig, Size: 200 * size.MiB}
	start := 4 * size.MiB
	for n, p := range []struct {
		kind       string
		size       size.Size
		attributes uint64
	}{{TypeFAT32, 40 * size.MiB, Active}, {TypeLinux, 64 * size.MiB, 0}, {TypeLinux, 64 * size.MiB, 0}, {TypeLinux, 28 * size.MiB, 0}} {
		t.Partitions = append(t.Partitions, Partition{Number: n + 1, Name: mbrNames[n], Type: p.kind, GUID: PartUUID(sig, n+1), Start: start, Size: p.size, Attributes: p.attributes})
		start += p.size
	}
	return t
}

// sfdisk judges: it prints nothing but what is wrong, and dumps what it reads.
func sfdisk(t *testing.T, f *os.File, option string) string {
	t.Helper()
	out, err := exec.Command("sfdisk", option, f.Name()).CombinedOutput()
	if err != nil {
		t.Fatalf("sfdisk %s: %v: %s", option, err, out)
	}
	return string(out)
}

func TestMBRIsReadBySfdisk(t *testing.T) {
	f := image(t, sampleMBR())
	if out := sfdisk(t, f, "--verify"); !strings.Contains(out, "No errors detected.") {
		t.Error(out)
	}
	dump := sfdisk(t, f, "--dump")
	for _, want := range []string{"label: dos", "label-id: 0x1a2b3c4d", "start=        8192, size=       81920, type=c, bootable", "start=      352256, size=       57344, type=83"} {
		if !strings.Contains(dump, want) {
			t.Errorf("%q is missing in\n%s", want, dump)
		}
	}
}

func TestReadMBRGivesWhatWasWritten(t *testing.T) {
	got, err := ReadMBR(image(t, sampleMBR()), sampleMBR().Size)
	if diff := cmp.Diff(sampleMBR(), got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestReadMBRTakesNoOtherTable(t *testing.T) {
	blank, gpt, extended := image(t, sampleMBR()), image(t, sample()), image(t, sampleMBR())
	for f, at := range map[*os.File]int64{blank: 510, extended: 446 + 16 + 4} {
		if _, err := f.WriteAt([]byte{0x05}, at); err != nil {
			t.Fatal(err)
		}
	}
	for f, want := range map[*os.File]string{blank: "MBR Signature", gpt: "the protective MBR of a GPT", extended: "partition 2 holds logical ones"} {
		if _, err := ReadMBR(f, 200*size.MiB); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestMBRGrowsAndStaysWithin2TiB(t *testing.T) {
	f := image(t, sampleMBR())
	for medium, want := range map[size.Size]size.Size{8*size.GiB + 512: 8*size.GiB - 172*size.MiB, 4 * size.TiB: 2*size.TiB - 173*size.MiB} {
		table, err := ReadMBR(f, medium)
		if err != nil {
			t.Fatal(err)
		}
		grown, changed, err := Grow(table, medium)
		state, _ := grown.Find("state")
		if err != nil || !changed || state.Size != want {
			t.Errorf("%s: state has %s, changed %v, %v; want %s", medium, state.Size, changed, err, want)
		}
		if err := Write(image(t, sampleMBR()), grown); err != nil {
			t.Error(err)
		}
		if _, again, err := Grow(grown, medium); again || err != nil {
			t.Errorf("%s: a second time: changed %v, %v", medium, again, err)
		}
	}
}

func TestMBRLeavesTheLoaderAlone(t *testing.T) {
	f := image(t, sampleMBR())
	code := []byte(strings.Repeat("c", 440))
	if _, err := f.WriteAt(code, 0); err != nil {
		t.Fatal(err)
	}
	if err := Write(f, sampleMBR()); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 440)
	if _, err := f.ReadAt(got, 0); err != nil || string(got) != string(code) {
		t.Errorf("the boot code was written to: %v", err)
	}
}

func TestCheckRefusesAnMBRThatCannotBe(t *testing.T) {
	for want, break_ := range map[string]func(*Table){
		"disk signature: want 8 hex digits, not all 0":               func(t *Table) { t.Disk = "00000000" },
		"is number 4, which is state's in an MBR":                    func(t *Table) { t.Partitions[3].Name = "data" },
		"number 5, want 1 to 4 in an MBR":                            func(t *Table) { t.Partitions[3].Number = 5 },
		"want 2 hex digits and 1a2b3c4d-01":                          func(t *Table) { t.Partitions[0].Type = "fat" },
		"have 2 active partitions":                                   func(t *Table) { t.Partitions[1].Attributes = Active },
		"ends at 201MiB, that is 1 MiB too far":                      func(t *Table) { t.Partitions[3].Size += size.MiB },
		"an MBR goes to 2 TiB":                                       func(t *Table) { t.Size, t.Partitions[3].Size = 3*size.TiB, 2*size.TiB },
		"partition system-a: overlaps GROVE-BOOT: starts at 4MiB":    func(t *Table) { t.Partitions[1].Start = 4 * size.MiB },
		"partition GROVE-BOOT: starts at 4194816B, want a multiple ": func(t *Table) { t.Partitions[0].Start += 512 },
	} {
		table := sampleMBR()
		break_(&table)
		if err := table.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
