package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"grove/builder/lab/network"
	"grove/internal/size"
	"grove/internal/spec"
)

// hostname is a DNS label (RFC 1123).
var hostname = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// virtUBoot is a firmware as bios and uefi are: U-Boot for QEMU, which reads extlinux.conf as that of a board does.
const virtUBoot = "u-boot"

// firmwares are what a machine may start by, the default first; machines what QEMU calls it.
var (
	firmwares = map[spec.Arch][]string{spec.AMD64: {"bios", "uefi"}, spec.ARM64: {"uefi"}, spec.ARMHF: {virtUBoot, sunxi, spl}}
	machines  = map[spec.Arch]string{spec.AMD64: "q35", spec.ARM64: "virt", spec.ARMHF: "virt"}
)

// Firmwares are all that bring a machine of any architecture as far as mongod.
func Firmwares() []string { return []string{"bios", "uefi", virtUBoot, sunxi} }

// makers are the programs that make a node's own disk.
func (c Config) makers() []string {
	if c.Image.Arch == spec.ARMHF {
		return []string{"cp", "mcopy"}
	}
	return []string{"qemu-img"}
}

// complete fills in the defaults and finds what would keep the lab from starting.
func (c Config) complete() (Config, error) {
	c.Image.Arch = or(c.Image.Arch, spec.AMD64)
	c.Firmware = or(c.Firmware, firmwares[c.Image.Arch][0])
	c.Bus = or(c.Bus, "virtio")
	c.Boot = or(c.Boot, 120*time.Second)
	c.Silence = or(c.Silence, 60*time.Second)
	if c.onSoC() {
		c.Silence = max(c.Silence, 3*time.Minute) // the kernel unpacks itself without a word
	}
	info, err := os.Stat(c.Image.Path)
	if err != nil {
		return c, fmt.Errorf("find the image: %w", err)
	}
	return c, errors.Join(c.fits(size.Size(info.Size())), c.names(), c.dates(), c.programs())
}

func or[T comparable](value, otherwise T) T {
	if value == *new(T) {
		return otherwise
	}
	return value
}

// fits looks at the machine and the image's size.
func (c Config) fits(image size.Size) error {
	switch m := c.Image.Lab; {
	case !slices.Contains(firmwares[c.Image.Arch], c.Firmware):
		return fmt.Errorf("firmware: have %q, want %s", c.Firmware, strings.Join(firmwares[c.Image.Arch], " or "))
	case c.onSoC() && m.Chain.Machine == "":
		return fmt.Errorf("firmware: have %q, but the board's lab has no chain", c.Firmware)
	case c.Image.Arch == spec.ARMHF && c.Bus != "virtio":
		return fmt.Errorf("disk: have %q, want virtio, which is all that the lab's U-Boot boots from", c.Bus)
	case !slices.Contains([]string{"virtio", "nvme"}, c.Bus):
		return fmt.Errorf("disk: have %q, want virtio or nvme", c.Bus)
	case m.Machine != machines[c.Image.Arch]:
		return fmt.Errorf("machine: have %q; the lab has %s for %s", m.Machine, machines[c.Image.Arch], c.Image.Arch)
	case m.CPU == "" || m.CPUs < 1 || m.Memory < 64*size.MiB:
		return fmt.Errorf("machine: have %d processors %q and %s of memory", m.CPUs, m.CPU, m.Memory)
	case m.Disk < image:
		return fmt.Errorf("disk of %s is smaller than the image, %s", m.Disk.Short(), image.Short())
	}
	return nil
}

func (c Config) names() error {
	if n := len(c.Nodes); n < 1 || n > network.Seats {
		return fmt.Errorf("have %d nodes, want 1 to %d", n, network.Seats)
	}
	seen := map[string]bool{}
	for i, p := range c.Nodes {
		name := or(at(c.Names, i), p.Hostname)
		for _, word := range []string{name, p.Hostname} {
			if !hostname.MatchString(word) {
				return fmt.Errorf("node %q: want a hostname of a-z, 0-9 and -, at most 63 long", word)
			}
		}
		if seen[name] {
			return fmt.Errorf("two nodes are called %q", name)
		}
		seen[name] = true
	}
	return nil
}

func (c Config) dates() error {
	for _, date := range c.Dates {
		_, day := time.Parse(time.DateOnly, date)
		_, whole := time.Parse("2006-01-02T15:04:05", date)
		if date != "" && day != nil && whole != nil {
			return fmt.Errorf("date of a node: have %q, want one such as 1970-01-01 or 2026-05-01T12:00:00", date)
		}
	}
	return nil
}

func (c Config) programs() error {
	for _, name := range append([]string{c.program()}, c.makers()...) {
		if c.Host.Look(name) == "" {
			where := "in PATH"
			if filepath.IsAbs(name) {
				where = "there"
			}
			return fmt.Errorf("find %s: it is not %s; run %s", name, where, c.setup())
		}
	}
	return nil
}
