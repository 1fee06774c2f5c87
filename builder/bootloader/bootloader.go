// Package bootloader makes GRUB for an image: for BIOS as boot code in LBA 0 and a core in the BIOS boot partition, for UEFI as EFI/BOOT/BOOTX64.EFI or BOOTAA64.EFI. All
// read one boot.cfg, one kernel and one initramfs from the boot partition. For boards that start by U-Boot, which package uboot knows, it writes extlinux.conf.
//
// Nothing is installed: the modules come out of Debian's grub-pc-bin, grub-efi-amd64-bin and grub-efi-arm64-bin, and grub-mkimage out of grub-common of the same suite. What
// grub-bios-setup does as root on a disk is done here on bytes, in three places (sections 1.1 of GRUB's boot.S and diskboot.S):
//
//	boot code  0x5c  u64  sector of the core
//	           0x66  u16  two nops in place of a jump: trust the drive number of the BIOS only if it is that of a hard disk
//	core       0x1f4 u64  sector of the rest of the core; 0x1fc u16 counts its sectors and 0x1fe names its segment, both already there
//
// GRUB finds its partition by a file named after the medium's GUID, so that a second Grove disk in the machine is not taken for it, and looks on the disk
// that it was started from first.
package bootloader

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"grove/internal/filesystem"
	"grove/internal/host"
	"grove/internal/spec"
)

// Tools are programs and files out of GRUB's Debian packages.
type Tools interface {
	Command(name string, args ...string) (host.Command, error)
	Path(rel string) string // of a file in the packages: usr/lib/grub/i386-pc
}

// Pieces is a boot loader ready to be written. Those that the board's firmware has no use for are nil.
type Pieces struct {
	Code  []byte // the first 440 bytes of LBA 0
	Core  []byte // at the start of the BIOS boot partition
	EFI   []byte // EFIPath in the boot partition
	UBoot []byte // at uboot.Place
}

// EFIPath is where UEFI looks on a medium that it was told nothing about (UEFI 2.10, section 3.5.1.1).
func EFIPath(arch spec.Arch) string { return "EFI/BOOT/" + efiName[arch] }

var efiName = map[spec.Arch]string{spec.AMD64: "BOOTX64.EFI", spec.ARM64: "BOOTAA64.EFI"}

// platform is one of GRUB's. Its modules are no more than reading boot.cfg and starting Linux needs: QEMU's start to boot.cfg takes 0.5 s under TCG with
// SeaBIOS, and 20 MB of kernel and initramfs 0.8 to 1.5 s more, with clusters of 512 bytes as with those of 32 KiB.
type platform struct {
	firmware string
	arch     spec.Arch
	name     string
	modules  []string
}

// file is its piece's name in a folder of Make.
func (p platform) file() string {
	if p.firmware == "bios" {
		return "core.img"
	}
	return "efi.img"
}

var common = []string{"part_gpt", "fat", "search_fs_file", "normal", "configfile", "linux", "boot", "serial", "terminal", "echo", "reboot"}

var platforms = []platform{
	{"bios", spec.AMD64, "i386-pc", append([]string{"biosdisk"}, common...)},
	{"uefi", spec.AMD64, "x86_64-efi", append([]string{"efi_gop"}, common...)},
	{"uefi", spec.ARM64, "arm64-efi", append([]string{"efi_gop"}, common...)},
}

// Make writes the pieces for an image into a folder that does not exist yet, to be read with Read.
func Make(ctx context.Context, h host.Host, tools Tools, image spec.Image, folder string) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return fmt.Errorf("make GRUB: %w", err)
	}
	embedded := filepath.Join(folder, "embedded.cfg")
	if err := os.WriteFile(embedded, []byte(Embedded(image)), 0o644); err != nil {
		return fmt.Errorf("make GRUB: %w", err)
	}
	for _, p := range platforms {
		if p.arch != image.Board.Arch || !slices.Contains(image.Board.Firmware, p.firmware) {
			continue
		}
		if err := p.make(ctx, h, tools, image, embedded, folder); err != nil {
			return fmt.Errorf("make GRUB for %s: %w", p.name, err)
		}
	}
	return nil
}

func (p platform) make(ctx context.Context, h host.Host, tools Tools, image spec.Image, embedded, folder string) error {
	modules, out := tools.Path("usr/lib/grub/"+p.name), filepath.Join(folder, p.file())
	args := append([]string{"-d", modules, "-O", p.name, "-o", out, "-p", "/grub", "-c", embedded}, p.modules...)
	c, err := tools.Command("grub-mkimage", args...)
	if err != nil {
		return err
	}
	if _, err := h.Run(ctx, c); err != nil {
		return err
	}
	if p.firmware != "bios" {
		return nil
	}
	place := image.Partition("bios-boot")
	if place.Size == 0 {
		return fmt.Errorf("the image has no partition bios-boot")
	}
	core, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	if core, err = patchCore(core, place); err != nil {
		return err
	}
	if err := os.WriteFile(out, core, 0o644); err != nil {
		return err
	}
	code, err := os.ReadFile(filepath.Join(modules, "boot.img"))
	if err != nil {
		return err
	}
	if code, err = patchCode(code, place); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "boot.img"), code, 0o644)
}

// Read reads what Make made.
func Read(folder string) (Pieces, error) {
	var p Pieces
	for file, to := range map[string]*[]byte{"boot.img": &p.Code, "core.img": &p.Core, "efi.img": &p.EFI} {
		b, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil && !os.IsNotExist(err) {
			return Pieces{}, fmt.Errorf("read GRUB: %w", err)
		}
		*to = b
	}
	if p.Code == nil && p.EFI == nil {
		return Pieces{}, fmt.Errorf("read GRUB: %s has neither boot.img nor efi.img", folder)
	}
	return p, nil
}

// Marker is the file by which GRUB knows the boot partition of this medium.
func Marker(image spec.Image) string { return "grove/id/" + image.DiskID() }

// number is the boot partition's.
func number(image spec.Image) int {
	return 1 + slices.IndexFunc(image.Partitions, func(p spec.Partition) bool { return p.Role == "boot" })
}

// Embedded is what GRUB does first, out of its own body. UEFI says which partition it was started from, BIOS only which disk: both are tried before the
// others are searched.
func Embedded(image spec.Image) string {
	return fmt.Sprintf("search.file /%s root $root,gpt%d $root\nset prefix=($root)/grub\nconfigfile /boot.cfg\n", Marker(image), number(image))
}

// Files are those of the boot partition that the loader reads.
func Files(image spec.Image, p Pieces) []filesystem.File {
	if image.Board.OnSunxi() {
		return []filesystem.File{{Path: "extlinux/extlinux.conf", Data: []byte(Extlinux(image))}}
	}
	files := []filesystem.File{{Path: "boot.cfg", Data: []byte(Config(image))}, {Path: Marker(image)}}
	if p.EFI != nil {
		files = append(files, filesystem.File{Path: EFIPath(image.Board.Arch), Data: p.EFI})
	}
	return files
}

// Extlinux is extlinux.conf, as U-Boot's distro boot reads it. The device tree is not named but its folder: U-Boot picks the one of the board that it runs on, or keeps the
// one that its machine gave it, and so one image boots on the board and in QEMU. A timeout of 0 would wait for ever.
func Extlinux(image spec.Image) string {
	return fmt.Sprintf("# %s: U-Boot reads this file.\ndefault grove\ntimeout 1\nprompt 0\nlabel grove\n  linux /vmlinuz\n  initrd /initrd\n  fdtdir /dtbs\n  append %s\n", image.Name, image.Cmdline)
}

// Config is boot.cfg: no menu, since there is one system. When the kernel is missing, GRUB's prompt is left on both consoles.
func Config(image spec.Image) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: GRUB reads this file for BIOS and for UEFI.\n", image.Name)
	if unit, speed, ok := serial(image.Board.Console); ok {
		fmt.Fprintf(&b, "serial --unit=%s --speed=%s\nterminal_input console serial\nterminal_output console serial\n", unit, speed)
	}
	fmt.Fprintf(&b, "linux /vmlinuz %s\ninitrd /initrd\nboot\n", image.Cmdline)
	return b.String()
}

// serial takes a console as the kernel writes it, ttyS0,115200n8, apart. GRUB knows only serial ports of a PC.
func serial(console string) (unit, speed string, ok bool) {
	unit, rest, found := strings.Cut(console, ",")
	unit, pc := strings.CutPrefix(unit, "ttyS")
	if !found || !pc {
		return "", "", false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	return unit, rest[:end], end > 0 && unit != ""
}
