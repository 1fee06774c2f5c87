package bay

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/builder/lab/qemu"
	"grove/internal/host"
	"grove/internal/size"
	"grove/internal/spec"
)

func bay(t *testing.T, disks ...Disk) *Bay {
	t.Helper()
	b, err := New(host.Real{}, t.TempDir(), "db1", disks)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fitted is the machine's disks with their ports: `d1@1 medium@2 d2@3 sata0:d3`.
func fitted(b *Bay) string {
	m := b.Equip(qemu.Machine{})
	var all []string
	if m.Port > 0 {
		all = append(all, "medium@"+string(rune('0'+m.Port)))
	}
	for _, d := range m.Disks {
		all = append(all, strings.TrimPrefix(d.ID, "data-")+"="+d.Serial+"@"+string(rune('0'+d.Port)))
	}
	return strings.Join(all, " ")
}

func TestDisksKeepTheirPlaces(t *testing.T) {
	b := bay(t, Disk{Size: size.GiB}, Disk{Size: size.GiB, Bus: "nvme", Serial: "vol1"}, Disk{Size: size.MiB, Bus: "sata", Name: "ssd"}, Disk{Size: size.MiB, Bus: "usb"})
	step := func(name string, err error, want string) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := fitted(b); got != want {
			t.Errorf("%s: got %s; want %s", name, got, want)
		}
	}
	step("as they come", nil, "medium@1 d1=d1@2 d2=vol1@3 ssd=ssd@0 d4=d4@0")
	step("one is out, the others stay where they are", b.Pull("d1"), "medium@1 d2=vol1@3 ssd=ssd@0 d4=d4@0")
	step("and comes back", b.Insert("d1"), "medium@1 d1=d1@2 d2=vol1@3 ssd=ssd@0 d4=d4@0")
	step("in another order", b.Order("d2", "ssd", "d1", Medium, "d4"), "medium@3 d2=vol1@1 ssd=ssd@0 d1=d1@2 d4=d4@0")
	step("another in its place", b.Replace("d2", Disk{}), "medium@3 d2=vol1b@1 ssd=ssd@0 d1=d1@2 d4=d4@0")
	for name, err := range map[string]error{"the medium": b.Pull(Medium), "no such disk": b.Pull("x"), "an order of some": b.Order("d1"), "an order with twins": b.Order("d2", "d2", "d1", Medium, "d4")} {
		if err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

func TestANodeWithoutDisksKeepsThePlainMachine(t *testing.T) {
	if diff := cmp.Diff(qemu.Machine{Name: "db1"}, bay(t).Equip(qemu.Machine{Name: "db1"})); diff != "" {
		t.Error(diff)
	}
}

func TestContents(t *testing.T) {
	content := make([]byte, 3*size.MiB)
	copy(content[size.MiB+17:], "in the middle")
	content[len(content)-1] = 1
	file := filepath.Join(t.TempDir(), "content")
	if err := os.WriteFile(file, content, 0o444); err != nil {
		t.Fatal(err)
	}
	b := bay(t, Disk{File: file}, Disk{File: file, Size: 4 * size.MiB}, Disk{Size: 4 * size.MiB})
	for name, want := range map[string][]byte{"d1": content, "d2": append(append([]byte(nil), content...), make([]byte, size.MiB)...), "d3": make([]byte, 4*size.MiB)} {
		path, err := b.File(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v; want the content and zeros after it", name, err)
		}
	}
	path, err := b.File("d1")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Replace("d1", Disk{}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, make([]byte, 3*size.MiB)) {
		t.Errorf("a disk put into the place of another is not blank, or not as large: %v", err)
	}
	if err := b.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is left")
	}
}

func TestSumsAreOfTheContent(t *testing.T) {
	b := bay(t, Disk{Size: 4 * size.MiB}, Disk{Size: 4 * size.MiB}, Disk{Size: 5 * size.MiB})
	write := func(name string, at int64, text string) string {
		t.Helper()
		path, _ := b.File(name)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt([]byte(text), at); err != nil {
			t.Fatal(err)
		}
		s, err := b.Sum(name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	blank := write("d1", 0, "")
	for _, c := range []struct {
		name      string
		got, want string
		equal     bool
	}{
		{"two blank disks", write("d2", 0, ""), blank, true},
		{"a larger one", write("d3", 0, ""), blank, false},
		{"zeros written into a hole", write("d1", 1<<20, string(make([]byte, 200<<10))), blank, true},
		{"a byte", write("d1", 3<<20+17, "x"), blank, false},
		{"the same byte", write("d2", 3<<20+17, "x"), write("d1", 0, ""), true},
		{"the same byte elsewhere", write("d2", 3<<20+17, "\x00x"), write("d1", 0, ""), false},
		{"the last byte of all", write("d2", 4<<20-1, "x"), write("d2", 0, ""), true},
	} {
		if (c.got == c.want) != c.equal {
			t.Errorf("%s: equal %v; want %v", c.name, !c.equal, c.equal)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want Disk
		err  string
	}{
		{text: "virtio,2GiB", want: Disk{Bus: "virtio", Size: 2 * size.GiB}},
		{text: "sata,8GiB,serial=A1,model=Fast SSD,name=ssd", want: Disk{Bus: "sata", Size: 8 * size.GiB, Serial: "A1", Model: "Fast SSD", Name: "ssd"}},
		{text: "ide,2GiB", err: `have bus "ide", want one of virtio, nvme, sata, usb, scsi`},
		{text: "virtio", err: "have 0, want 1MiB or more"},
		{text: "virtio,2GB", err: `want a size such as 512MiB or 4GiB, have "2GB"`},
		{text: "virtio,2GiB,serail=x", err: `unknown "serail"; did you mean "serial"?`},
		{text: "nvme,2GiB,model=x", err: `model "x", want at most 0 printable characters on nvme`},
		{text: "virtio,2GiB,serial=123456789012345678901", err: "want at most 20 printable characters on virtio"},
		{text: "virtio,2GiB,name=medium", err: "not medium"},
		{text: "virtio,file=/no/such", err: "no such file"},
	} {
		got, err := Parse(c.text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v; want %s", c.text, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.text, err, diff)
		}
	}
}

func TestDisksFitTheRecipe(t *testing.T) {
	s := func(all ...spec.Selector) *spec.Storage { return &spec.Storage{Disks: all} }
	for _, c := range []struct {
		name    string
		storage *spec.Storage
		swap    []spec.Swap
		want    []Disk
		err     string
	}{
		{name: "nothing asked for"},
		{name: "names from b on are virtio's own", storage: s(spec.Selector{Name: "xvdb"}, spec.Selector{Name: "sdc"}), want: []Disk{{Bus: "virtio", Size: blank}, {Bus: "virtio", Size: blank}}},
		{name: "a name that would be another", storage: s(spec.Selector{Name: "xvdf"}), err: "make a disk for xvdf: in QEMU it would be called vdb"},
		{name: "two of a bus, and a stick", storage: s(spec.Selector{Bus: "sata", Count: 2, Size: size.GiB}), swap: []spec.Swap{{On: "usb"}, {On: "state"}},
			want: []Disk{{Bus: "sata", Size: size.GiB}, {Bus: "sata", Size: size.GiB}, {Bus: "usb", Size: stick, Name: "stick3"}}},
		{name: "a serial", storage: s(spec.Selector{Serial: "A1"}), want: []Disk{{Bus: "virtio", Size: blank, Serial: "A1"}}},
		{name: "a model", storage: s(spec.Selector{Model: "Fast SSD"}), want: []Disk{{Bus: "sata", Size: blank, Model: "Fast SSD"}}},
		{name: "a volume of EC2", storage: s(spec.Selector{EBS: "vol-0123456789abcdef0"}), err: "only EC2 has volumes such as vol-0123456789abcdef0"},
		{name: "a bus that QEMU has not", storage: s(spec.Selector{Bus: "xen"}), err: `have bus "xen"`},
	} {
		got, err := For(c.storage, c.swap)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v; want %s", c.name, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.name, err, diff)
		}
	}
}
