// Package bay is the disks of one node beside its medium: their files, the order in which the kernel meets them, and which of them are in.
//
// The files are raw and sparse; they outlive every boot and go with Remove. What is changed here holds from the next boot on: a running machine is the lab's affair.
package bay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"grove/internal/host"
	"grove/internal/size"
)

// Disk is a data disk. What is left zero has the default named here.
type Disk struct {
	Name   string // by which it is spoken of; d1, d2, ...
	Bus    string // one of package qemu's Buses; virtio
	Size   size.Size
	Serial string // the name
	Model  string // of sata and scsi; QEMU's own
	File   string // what is on it to start with, copied; "": blank
}

// Medium stands in an order for the disk that the node boots from.
const Medium = "medium"

// Bay may be used from any goroutine.
type Bay struct {
	host      host.Host
	dir, node string

	mu    sync.Mutex
	disks []*slot // in the order that the kernel meets them; the medium is one of them
}

type slot struct {
	Disk
	path string // "" of the medium
	out  bool
	port int // of the PCIe ports, in the running machine
}

// New makes the files. dir is where they lie, as NODE.NAME.disk.
func New(h host.Host, dir, node string, disks []Disk) (*Bay, error) {
	b := &Bay{host: h, dir: dir, node: node, disks: []*slot{{Disk: Disk{Name: Medium}}}}
	for n, d := range disks {
		d, err := d.complete(n + 1)
		if err != nil {
			return nil, err
		}
		if b.find(d.Name) != nil {
			return nil, fmt.Errorf("two disks are called %q", d.Name)
		}
		b.disks = append(b.disks, &slot{Disk: d, path: filepath.Join(dir, node+"."+d.Name+".disk")})
	}
	for _, s := range b.disks[1:] {
		if err := s.fill(); err != nil {
			return nil, errors.Join(fmt.Errorf("make disk %s: %w", s.Name, err), b.Remove())
		}
	}
	return b, nil
}

func (d Disk) complete(number int) (Disk, error) {
	if d.Name == "" {
		d.Name = fmt.Sprintf("d%d", number)
	}
	if d.Bus == "" {
		d.Bus = "virtio"
	}
	if d.Serial == "" {
		d.Serial = d.Name
	}
	if d.File != "" {
		info, err := os.Stat(d.File)
		if err != nil {
			return d, fmt.Errorf("disk %s: %w", d.Name, err)
		}
		d.Size = max(d.Size, size.Size(info.Size()))
	}
	return d, d.check()
}

func (b *Bay) find(name string) *slot {
	for _, s := range b.disks {
		if s.Name == name {
			return s
		}
	}
	return nil
}

func (b *Bay) data(name string) (*slot, error) {
	if s := b.find(name); s != nil && s.path != "" {
		return s, nil
	}
	return nil, fmt.Errorf("%s has no disk %q", b.node, name)
}

// Empty tells whether there never were any disks.
func (b *Bay) Empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.disks) == 1
}

// Pull takes a disk out and Insert puts it back, both from the next boot on.
func (b *Bay) Pull(name string) error   { return b.set(name, true) }
func (b *Bay) Insert(name string) error { return b.set(name, false) }

func (b *Bay) set(name string, out bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := b.data(name)
	if err == nil {
		s.out = out
	}
	return err
}

// Replace puts another disk into the place of one that is out, or of one of a node that is off; it has that one's name, bus and, unless it says otherwise, size,
// but never its serial by default.
func (b *Bay) Replace(name string, d Disk) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := b.data(name)
	if err != nil {
		return err
	}
	d.Name, d.Bus = s.Name, s.Bus
	if d.Size == 0 {
		d.Size = s.Size
	}
	if d.Serial == "" {
		d.Serial = s.Serial + "b"
	}
	if d, err = d.complete(0); err != nil {
		return err
	}
	s.Disk, s.out = d, false
	if err := os.Remove(s.path); err != nil {
		return fmt.Errorf("replace disk %s of %s: %w", name, b.node, err)
	}
	return s.fill()
}

// Order names all of the disks, and Medium, in the order in which the kernel is to meet them at the next boot.
func (b *Bay) Order(names ...string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var order []*slot
	for _, name := range names {
		s := b.find(name)
		if s == nil || slices.Contains(order, s) {
			return fmt.Errorf("order of %s's disks: have %q, which is no disk or there twice", b.node, name)
		}
		order = append(order, s)
	}
	if len(order) != len(b.disks) {
		return fmt.Errorf("order of %s's disks: have %d names, want all %d, the medium too", b.node, len(order), len(b.disks))
	}
	b.disks = order
	return nil
}

// File is where a disk's content lies.
func (b *Bay) File(name string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := b.data(name)
	if err != nil {
		return "", err
	}
	return s.path, nil
}

// Names lists the disks without the medium, in their order.
func (b *Bay) Names() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.disks {
		if s.path != "" {
			all = append(all, s.Name)
		}
	}
	return all
}

// Remove deletes the files.
func (b *Bay) Remove() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all error
	for _, s := range b.disks {
		if err := os.Remove(s.path); s.path != "" && err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}
