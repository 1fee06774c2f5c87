// Package sysfs reads block devices as the kernel shows them in /sys: whole disks with their bus, serial number and model, arrays, mapped devices.
//
// It does without udev, whose links go missing on a "change" event and which a node does not have. Nothing is opened but files of /sys: what a disk carries is
// the affair of others. Each call reads some ten files a disk; the root stands before /sys, empty on a node, a recorded tree in tests.
package sysfs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"grove/internal/size"
)

// Disk is a whole disk.
type Disk struct {
	Name     string // nvme1n1
	Size     size.Size
	Bus      string // one of spec.Buses, "" unknown
	Serial   string // "" where the kernel has none: Xen
	Model    string // whole, not the 16 letters of an old SCSI inquiry, where the kernel has it
	ReadOnly bool
	Parts    []Part   // by number
	Holders  []string // what is built on it, on its partitions and on those in turn: md127, dm-0
}

// Part is a partition as the kernel holds it.
type Part struct {
	Name    string // nvme1n1p1
	Number  int
	Start   size.Size
	Size    size.Size
	Holders []string
}

// notDisks are devices of /sys/block that nobody stores on: made of memory, of files or of other disks, removable media without a write, the boot areas of an eMMC.
var notDisks = regexp.MustCompile(`^(loop|ram|zram|dm-|md|sr|fd|nbd|mtdblock)[0-9_]|^mmcblk\d+(boot\d|rpmb|gp\d)`)

// Disks gives the whole disks that have room, by name. A slot without a medium has size 0 and is none; a path of a multipath NVMe is hidden and is none.
func Disks(root string) ([]Disk, error) {
	entries, err := os.ReadDir(root + "/sys/block")
	if err != nil {
		return nil, fmt.Errorf("look for disks: %w", err)
	}
	var disks []Disk
	for _, e := range entries {
		n := node{root, filepath.Join(root, "sys/block", e.Name())}
		if notDisks.MatchString(e.Name()) || n.number("size") == 0 || n.number("hidden") == 1 {
			continue
		}
		d := Disk{Name: e.Name(), Size: n.bytes("size"), ReadOnly: n.number("ro") == 1, Parts: n.parts(), Holders: n.holders()}
		d.Bus, d.Serial, d.Model = n.identity()
		for _, p := range d.Parts {
			d.Holders = append(d.Holders, p.Holders...)
		}
		slices.Sort(d.Holders)
		d.Holders = slices.Compact(d.Holders)
		disks = append(disks, d)
	}
	return disks, nil
}

// Partition is the kernel's name of a partition (block/partitions/core.c): a p stands between where the disk's name ends in a digit.
func Partition(disk string, number int) string {
	if last := disk[len(disk)-1]; last >= '0' && last <= '9' {
		disk += "p"
	}
	return disk + strconv.Itoa(number)
}

// Numbers gives the kernel name of each block device by its major and minor number, as /proc/self/mountinfo has them: 254:3.
func Numbers(root string) map[string]string {
	names := map[string]string{}
	all, _ := filepath.Glob(root + "/sys/class/block/*/dev")
	for _, file := range all {
		dir := filepath.Dir(file)
		names[node{root, dir}.text("dev")] = filepath.Base(dir)
	}
	return names
}

// node is a folder of /sys.
type node struct{ root, dir string }

// text is a file of one line, "" when it is not there.
func (n node) text(file string) string { return strings.TrimSpace(string(n.raw(file))) }

func (n node) raw(file string) []byte {
	data, _ := os.ReadFile(filepath.Join(n.dir, file)) // what is not there is not known
	return data
}

func (n node) number(file string) int64 {
	v, _ := strconv.ParseInt(n.text(file), 10, 64)
	return v
}

// bytes is a number of sectors, which are 512 bytes here whatever those of the disk are.
func (n node) bytes(file string) size.Size { return size.Size(n.number(file)) * 512 }

func (n node) parts() []Part {
	files, _ := filepath.Glob(n.dir + "/*/partition")
	var parts []Part
	for _, file := range files {
		p := node{n.root, filepath.Dir(file)}
		parts = append(parts, Part{Name: filepath.Base(p.dir), Number: int(p.number("partition")), Start: p.bytes("start"), Size: p.bytes("size"), Holders: p.holders()})
	}
	slices.SortFunc(parts, func(a, b Part) int { return a.Number - b.Number })
	return parts
}

// holders goes up: an array on a disk, a volume on the array. The kernel allows no rings.
func (n node) holders() (all []string) {
	entries, _ := os.ReadDir(n.dir + "/holders")
	for _, e := range entries {
		above := node{n.root, filepath.Join(n.root, "sys/class/block", e.Name())}
		all = append(append(all, e.Name()), above.holders()...)
	}
	return all
}
