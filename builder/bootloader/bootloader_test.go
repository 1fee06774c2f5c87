package bootloader

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/host"
	"grove/internal/size"
	"grove/internal/spec"
)

func image(firmware ...string) spec.Image {
	return spec.Image{
		Name: "demo", Seed: "seed", Cmdline: "console=tty0 console=ttyS0,115200n8 panic=10",
		Board: spec.Board{Arch: spec.AMD64, Firmware: firmware, Console: "ttyS0,115200n8"},
		Partitions: []spec.Partition{
			{Role: "bios-boot", Start: size.MiB, Size: size.MiB},
			{Role: "boot", Start: 4 * size.MiB, Size: 64 * size.MiB},
		},
	}
}

func TestConfig(t *testing.T) {
	want := `# demo: GRUB reads this file for BIOS and for UEFI.
serial --unit=0 --speed=115200
terminal_input console serial
terminal_output console serial
linux /vmlinuz console=tty0 console=ttyS0,115200n8 panic=10
initrd /initrd
boot
`
	if diff := cmp.Diff(want, Config(image())); diff != "" {
		t.Error(diff)
	}
}

func TestEmbeddedLooksForThisMediumOnTheBootDiskFirst(t *testing.T) {
	want := `search.file /grove/id/` + image().DiskID() + ` root $root,gpt2 $root
set prefix=($root)/grub
configfile /boot.cfg
`
	if diff := cmp.Diff(want, Embedded(image())); diff != "" {
		t.Error(diff)
	}
}

func TestConsoleOfThePCIsGRUBsToo(t *testing.T) {
	for console, want := range map[string]string{
		"ttyS0,115200n8": "serial --unit=0 --speed=115200\n", "ttyS1,9600": "serial --unit=1 --speed=9600\n",
		"hvc0": "", "ttyAMA0,115200": "", "ttyS0": "", "": "",
	} {
		i := image()
		i.Board.Console = console
		got := Config(i)
		if want != "" && !strings.Contains(got, want) || want == "" && strings.Contains(got, "serial") {
			t.Errorf("%s: got %s, want %q", console, got, want)
		}
	}
}

// bootImg and coreImg have what GRUB has where it is patched.
func bootImg() []byte {
	b := bytes.Repeat([]byte{0x11}, 512)
	binary.LittleEndian.PutUint64(b[0x5c:], 1)
	copy(b[0x64:], []byte{0xff, 0xfa, 0xeb, 0x05})
	b[510], b[511] = 0x55, 0xaa
	return b
}

func coreImg(bytes int) []byte {
	b := make([]byte, bytes)
	binary.LittleEndian.PutUint64(b[0x1f4:], 2)
	binary.LittleEndian.PutUint16(b[0x1fc:], uint16((bytes+511)/512-1))
	binary.LittleEndian.PutUint16(b[0x1fe:], 0x820)
	return b
}

type tools string

func (t tools) Command(name string, args ...string) (host.Command, error) {
	return host.Command{Path: name, Args: args}, nil
}
func (t tools) Path(rel string) string { return filepath.Join(string(t), rel) }

// fake is a host on which grub-mkimage writes core wherever it is told to.
func fake(t *testing.T, core []byte) (*host.Fake, tools) {
	dir := tools(t.TempDir())
	if err := os.MkdirAll(dir.Path("usr/lib/grub/i386-pc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.Path("usr/lib/grub/i386-pc/boot.img"), bootImg(), 0o644); err != nil {
		t.Fatal(err)
	}
	return &host.Fake{Programs: func(c host.Command) (string, error) {
		for i, a := range c.Args {
			if a == "-o" {
				return "", os.WriteFile(c.Args[i+1], core, 0o644)
			}
		}
		return "", nil
	}}, dir
}

func TestMakePatchesThreePlaces(t *testing.T) {
	core := coreImg(150_783)
	h, dir := fake(t, core)
	folder := filepath.Join(t.TempDir(), "grub")
	if err := Make(context.Background(), h, dir, image("bios", "uefi"), folder); err != nil {
		t.Fatal(err)
	}
	got, err := Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := Pieces{Code: bootImg()[:440], Core: bytes.Clone(core), EFI: core}
	copy(want.Code[0x5c:], []byte{0, 8, 0, 0, 0, 0, 0, 0}) // 2048
	copy(want.Code[0x66:], []byte{0x90, 0x90})
	copy(want.Core[0x1f4:], []byte{1, 8, 0, 0, 0, 0, 0, 0}) // 2049
	if !cmp.Equal(got, want) {
		t.Errorf("got other bytes than three patches make")
	}
	if ran := strings.Join(h.Ran(), "\n"); strings.Count(ran, "grub-mkimage") != 2 || !strings.Contains(ran, "-O i386-pc") || !strings.Contains(ran, "-O x86_64-efi") {
		t.Errorf("ran %s", ran)
	}
}

func TestMakeLeavesOutWhatTheFirmwareDoesNotRead(t *testing.T) {
	h, dir := fake(t, coreImg(100_000))
	folder := filepath.Join(t.TempDir(), "grub")
	if err := Make(context.Background(), h, dir, image("uefi"), folder); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(folder); err != nil || got.Code != nil || got.Core != nil || got.EFI == nil {
		t.Errorf("got %d, %d and %d bytes, %v; want those of UEFI alone", len(got.Code), len(got.Core), len(got.EFI), err)
	}
}

func TestMakeRefusesAGRUBThatItDoesNotKnow(t *testing.T) {
	wrong := coreImg(150_000)
	wrong[0x1fc]++
	noPlace := image("bios")
	noPlace.Partitions = noPlace.Partitions[1:]
	tests := []struct {
		name  string
		core  []byte
		image spec.Image
		want  string
	}{
		{"another count of sectors", wrong, image("bios"), "its block list does not hold 292 sectors from 2"},
		{"too large", coreImg(1<<20 + 1), image("bios"), "core.img does not fit partition bios-boot: have 1048577 bytes, want at most 1MiB"},
		{"empty", nil, image("bios"), "core.img of 0 bytes"},
		{"no place", coreImg(150_000), noPlace, "no partition bios-boot"},
	}
	for _, test := range tests {
		h, dir := fake(t, test.core)
		err := Make(context.Background(), h, dir, test.image, filepath.Join(t.TempDir(), "grub"))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	boot := bootImg()
	boot[0x66] = 0
	if _, err := patchCode(boot, image().Partition("bios-boot")); err == nil {
		t.Error("another boot.img: want an error")
	}
}

func TestUBootReadsExtlinux(t *testing.T) {
	i := image(spec.Sunxi)
	i.Cmdline = "panic=10 quiet"
	want := `# demo: U-Boot reads this file.
default grove
timeout 1
prompt 0
label grove
  linux /vmlinuz
  initrd /initrd
  fdtdir /dtbs
  append panic=10 quiet
`
	files := Files(i, Pieces{UBoot: []byte("x")})
	if len(files) != 1 || files[0].Path != "extlinux/extlinux.conf" || string(files[0].Data) != want {
		t.Errorf("got %+v", files)
	}
}

func TestARM64StartsByItsOwnName(t *testing.T) {
	i := image("uefi")
	i.Board.Arch = spec.ARM64
	h, dir := fake(t, []byte("efi"))
	folder := filepath.Join(t.TempDir(), "grub")
	if err := Make(context.Background(), h, dir, i, folder); err != nil {
		t.Fatal(err)
	}
	if ran := strings.Join(h.Ran(), "\n"); !strings.Contains(ran, "-O arm64-efi") || strings.Contains(ran, "x86_64") {
		t.Errorf("ran %s", ran)
	}
	p, err := Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range Files(i, p) {
		paths = append(paths, f.Path)
	}
	if diff := cmp.Diff([]string{"boot.cfg", Marker(i), "EFI/BOOT/BOOTAA64.EFI"}, paths); diff != "" {
		t.Error(diff)
	}
}
