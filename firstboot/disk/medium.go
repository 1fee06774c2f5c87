// Package disk finds the medium that the node was booted from, and makes its state partition fill it.
//
// The medium is known by the GUID of its GPT or the signature of its MBR, never by a name of /dev: those depend on the order in which disks appear. Nothing here formats
// or erases; the only writes are the table's new end and the growth of a file system that is there.
package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"grove/internal/partition"
	"grove/internal/size"
)

// Names of the partitions on a medium.
const (
	Boot   = "GROVE-BOOT"
	System = "system-a"
	State  = "state"
)

// Medium is a disk with our table on it.
type Medium struct {
	Name  string // vda
	Size  size.Size
	Table partition.Table
	root  string
}

// Sight is what a look at the disks has shown, for a person who wonders why theirs is not found.
type Sight []string

func (s Sight) String() string {
	if len(s) == 0 {
		return "no disk at all"
	}
	return strings.Join(s, ", ")
}

// Find looks at all disks once, for a GPT with this GUID or, if it has 8 digits, an MBR with this signature. root is where /sys and /dev are, empty on a node. Without an error and with a Medium of no name it has not appeared yet.
func Find(root, id string) (Medium, Sight, error) {
	folders, err := filepath.Glob(root + "/sys/class/block/*")
	if err != nil {
		return Medium{}, nil, err
	}
	var seen Sight
	var found []Medium
	for _, folder := range folders {
		m, said, whole := look(root, folder, id)
		if !whole {
			continue
		}
		seen = append(seen, fmt.Sprintf("%s (%s, %s)", m.Name, m.Size.Short(), said))
		if strings.EqualFold(m.Table.Disk, id) {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 0:
		return Medium{}, seen, nil
	case 1:
		return found[0], seen, nil
	}
	return Medium{}, seen, fmt.Errorf("find the medium: %s and %s carry the same image: take one away", found[0].Name, found[1].Name)
}

// look reads the partition table of a whole disk that has room; loops and RAM disks are none of ours.
func look(root, folder, id string) (m Medium, said string, whole bool) {
	m = Medium{Name: filepath.Base(folder), root: root}
	if _, err := os.Stat(folder + "/partition"); err == nil || strings.HasPrefix(m.Name, "loop") || strings.HasPrefix(m.Name, "ram") {
		return m, "", false
	}
	sectors, err := number(folder + "/size")
	if err != nil || sectors == 0 {
		return m, "", false
	}
	m.Size = size.Size(sectors) * 512
	f, err := os.Open(m.Dev())
	if err != nil {
		return m, err.Error(), true
	}
	defer f.Close()
	kind, read := "GPT", partition.Read
	if (partition.Table{Disk: id}).MBR() {
		kind, read = "MBR", partition.ReadMBR
	}
	if m.Table, err = read(f, m.Size); err != nil {
		return m, "no " + kind, true
	}
	return m, kind + " " + m.Table.Disk, true
}

func number(file string) (int64, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
}

// Dev is the disk's device.
func (m Medium) Dev() string { return m.root + "/dev/" + m.Name }

// Partition gives the device of a partition by its name in the table. The kernel makes it a moment after the disk.
func (m Medium) Partition(name string) (dev string, p partition.Partition, err error) {
	p, found := m.Table.Find(name)
	if !found {
		return "", p, fmt.Errorf("find partition %s: the table of %s has none of that name", name, m.Name)
	}
	folders, _ := filepath.Glob(m.root + "/sys/class/block/" + m.Name + "/" + m.Name + "*/partition")
	for _, file := range folders {
		if n, err := number(file); err == nil && int(n) == p.Number {
			return m.root + "/dev/" + filepath.Base(filepath.Dir(file)), p, nil
		}
	}
	return "", p, fmt.Errorf("find partition %s: %w", name, errAbsent)
}

// length is how long the kernel holds a partition for.
func (m Medium) length(dev string) (size.Size, error) {
	sectors, err := number(m.root + "/sys/class/block/" + m.Name + "/" + filepath.Base(dev) + "/size")
	return size.Size(sectors) * 512, err
}

var errAbsent = errors.New("the kernel does not show it")
