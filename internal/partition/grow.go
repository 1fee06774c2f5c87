package partition

import (
	"fmt"

	"grove/internal/size"
)

// Grow gives the table as it should be on a medium of this size: a GPT's backup at the very end, the last partition up to the last whole MiB before it, of an MBR up to 2 TiB. It
// says whether that differs from what the medium has, so that Write is called once and not again; a table read from its backup always differs.
func Grow(t Table, medium size.Size) (grown Table, changed bool, err error) {
	medium = medium / sector * sector
	if medium < t.Size {
		return t, false, fmt.Errorf("grow the partition table: the medium has %s, the table is for %s", medium.Short(), t.Size.Short())
	}
	grown = t
	grown.FromBackup, grown.Size = false, medium
	grown.Partitions = append([]Partition(nil), t.Partitions...)
	if i := t.last(); i >= 0 {
		p := &grown.Partitions[i]
		p.Size = max(p.Size, t.room(medium)/Align*Align-p.Start)
		changed = p.Size != t.Partitions[i].Size
	}
	return grown, changed || t.FromBackup || medium != t.Size, nil
}

// room is where partitions must end on a medium of this size.
func (t Table) room(medium size.Size) size.Size {
	if t.MBR() {
		return min(medium, mbrLimit)
	}
	return medium - ends
}

// last is the index of the partition that ends last, -1 if there is none.
func (t Table) last() int {
	found := -1
	for i, p := range t.Partitions {
		if found < 0 || p.Start > t.Partitions[found].Start {
			found = i
		}
	}
	return found
}
