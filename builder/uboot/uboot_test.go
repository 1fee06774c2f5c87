package uboot

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"grove/internal/spec"
)

var board = spec.Board{Name: "nano", UBoot: spec.UBoot{Defconfig: "Nano_defconfig", DeviceTree: "sun7i-nano", Wrong: "it sets another clock", Version: "1", Compiler: "gcc 12"}}

// loader is an SPL of 512 bytes that names a device tree, with U-Boot proper behind it.
func loader(tree string) []byte {
	b := make([]byte, 700)
	le := binary.LittleEndian
	copy(b[4:], magic)
	le.PutUint32(b[16:], 512)
	copy(b[20:], "SPL\x02")
	le.PutUint32(b[32:], 44)
	copy(b[44:], tree+"\x00")
	sum := uint32(stamp)
	for at := 0; at < 512; at += 4 {
		sum += le.Uint32(b[at:])
	}
	le.PutUint32(b[12:], sum)
	copy(b[512:], "proper")
	return b
}

func TestParse(t *testing.T) {
	got, err := Parse(loader("sun7i-nano"))
	if want := (Loader{Bytes: 700, SPL: 512, DeviceTree: "sun7i-nano"}); got != want || err != nil {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for name, c := range map[string]struct {
		spoil func(b []byte) []byte
		want  string
	}{
		"short":      {func(b []byte) []byte { return b[:50] }, "it has no SPL for Allwinner"},
		"no magic":   {func(b []byte) []byte { b[4] = 'x'; return b }, "want eGON.BT0 at byte 4"},
		"cut":        {func(b []byte) []byte { return b[:500] }, "its SPL has 512 bytes by its header, the file 500"},
		"one bit":    {func(b []byte) []byte { b[300] ^= 1; return b }, "its SPL is damaged: have the checksum "},
		"odd length": {func(b []byte) []byte { b[16] = 3; return b }, "its SPL has 515 bytes"},
	} {
		if _, err := Parse(c.spoil(loader("sun7i-nano"))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(loader("x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := Parse(b); err == nil && (l.SPL > l.Bytes || len(l.DeviceTree) > len(b)) {
			t.Errorf("got %+v of %d bytes", l, len(b))
		}
	})
}

func TestAnotherBoardsIsRefusedWithTheReason(t *testing.T) {
	file := filepath.Join(t.TempDir(), Binary)
	for tree, want := range map[string]string{
		"sun7i-other": "is U-Boot for sun7i-other, nano wants one for sun7i-nano: it sets another clock; scripts/build-uboot makes it",
		"":            "is U-Boot for a board that it does not name, nano wants one for sun7i-nano",
	} {
		if err := os.WriteFile(file, loader(tree), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Read(file, board); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestFindTakesOnlyWhatWasBuilt(t *testing.T) {
	data := loader("sun7i-nano")
	sum := sha256.Sum256(data)
	have := hex.EncodeToString(sum[:])
	for name, c := range map[string]struct {
		built         Built
		recorded      string
		spoil         bool
		want, differs string
	}{
		"as recorded":                       {Built{Version: "1", Compiler: "gcc 12", SHA256: have}, have, false, "", ""},
		"another compiler":                  {Built{Version: "1", Compiler: "gcc 14", SHA256: have}, "abc", false, "", "was built by gcc 14, which makes other bytes than gcc 12 does"},
		"the same compiler and other bytes": {Built{Version: "1", Compiler: "gcc 12", SHA256: have}, "abc", false, "but gcc 12 makes abc of U-Boot 1", ""},
		"another version":                   {Built{Version: "2", Compiler: "gcc 12", SHA256: have}, have, false, "is U-Boot 2, the board nano wants 1", ""},
		"changed since":                     {Built{Version: "1", Compiler: "gcc 12", SHA256: have}, have, true, "was changed after it was built", ""},
	} {
		cache, b := t.TempDir(), board
		b.UBoot.SHA256 = c.recorded
		folder := Folder(cache, b.UBoot)
		about, err := json.Marshal(c.built)
		if err != nil {
			t.Fatal(err)
		}
		file := data
		if c.spoil {
			file = data[:600]
		}
		for _, err := range []error{os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, Binary), file, 0o644), os.WriteFile(filepath.Join(folder, About), about, 0o644)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		_, _, differs, err := Find(cache, b)
		if said := errorText(err); !strings.Contains(said, c.want) || (said == "") != (c.want == "") || !strings.Contains(differs, c.differs) || (differs == "") != (c.differs == "") {
			t.Errorf("%s: got %q and %v", name, differs, err)
		}
	}
	if _, _, _, err := Find(t.TempDir(), board); err == nil || !strings.Contains(err.Error(), "is not built yet; scripts/build-uboot Nano_defconfig makes it") {
		t.Errorf("nothing built: got %v", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
