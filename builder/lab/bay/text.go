package bay

import (
	"fmt"
	"strings"

	"grove/internal/diag"
	"grove/internal/size"
	"grove/internal/spec"
)

// Parse reads a disk as it stands on a command line: `virtio,2GiB` or `sata,8GiB,serial=A1,model=X,name=ssd,file=disk.raw`. A file gives its own size.
func Parse(text string) (d Disk, err error) {
	words := strings.Split(text, ",")
	d.Bus = words[0]
	for _, w := range words[1:] {
		key, value, named := strings.Cut(w, "=")
		field := map[string]*string{"serial": &d.Serial, "model": &d.Model, "name": &d.Name, "file": &d.File}[key]
		switch {
		case named && field != nil:
			*field = value
		case named:
			return d, fmt.Errorf("unknown %q%s", key, diag.Meant(key, []string{"serial", "model", "name", "file"}))
		default:
			if d.Size, err = size.Parse(w); err != nil {
				return d, err
			}
		}
	}
	_, err = d.complete(1)
	return d, err
}

// Blank sizes of what the lab gives by itself. XFS of mkfs 5.19 or later wants 300 MiB at least, and the usual share of a log is 5 % of the array: 410 MiB of
// 2 × 4 GiB.
const (
	blank = 4 * size.GiB
	stick = size.GiB
)

// For gives the blank disks that a recipe's storage and swap ask for, so that its image can just be booted: each fits its selector. A recipe that can't be pleased so
// is an error that says why.
func For(storage *spec.Storage, swap []spec.Swap) (disks []Disk, err error) {
	if storage != nil {
		for _, s := range storage.Disks {
			for range max(s.Count, 1) {
				d, err := fits(s, count(disks, "virtio"))
				if err != nil {
					return nil, fmt.Errorf("make a disk for %s: %w", s, err)
				}
				disks = append(disks, d)
			}
		}
	}
	for _, s := range swap {
		if s.On == "usb" {
			disks = append(disks, Disk{Name: fmt.Sprintf("stick%d", len(disks)+1), Bus: "usb", Size: stick})
		}
	}
	return disks, nil
}

// fits is a disk for a selector. before counts the virtio disks that come before it: the medium is vda, so the first of them is vdb.
func fits(s spec.Selector, before int) (Disk, error) {
	d := Disk{Bus: s.Bus, Size: s.Size, Serial: s.Serial, Model: s.Model}
	if d.Size == 0 {
		d.Size = blank
	}
	switch {
	case s.EBS != "":
		return d, fmt.Errorf("only EC2 has volumes such as %s", s.EBS)
	case s.Name != "" && s.Name[max(len(s.Name)-1, 0):] != string(rune('b'+before)):
		return d, fmt.Errorf("in QEMU it would be called vd%c", 'b'+before)
	case d.Model != "" && d.Bus == "":
		d.Bus = "sata" // the one that can have a model of 40 characters
	case d.Bus == "":
		d.Bus = "virtio"
	}
	_, err := d.complete(1)
	return d, err
}

func count(disks []Disk, bus string) (n int) {
	for _, d := range disks {
		if d.Bus == bus {
			n++
		}
	}
	return n
}
