// Package partition reads, writes and grows partition tables: GPT, and MBR where a boot ROM wants its loader in the place of a GPT.
//
//	LBA 0        boot code of 440 bytes (not ours: left as it is) and the protective MBR
//	LBA 1..33    header and 128 entries
//	             partitions, each starting on a multiple of 1 MiB
//	last 33      the backup: entries, then header
//
// Of an MBR there is LBA 0 alone, with a signature of the disk and four entries.
//
// The encoding is go-diskfs's; it checks nothing, so Check does before a byte is written. Sectors are 512 bytes: a medium with 4 KiB logical
// sectors is refused by Read, as no header is found at byte 512. GUIDs are written in lower case, as Linux shows them.
//
// The same package serves the builder, which writes the table into an image, and the node, which finds its medium by the table's GUID and grows
// the last partition to fill it.
package partition

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"grove/internal/size"
)

const (
	sector = 512 * size.B
	// ends is what the table itself takes at each end of the medium: 1 sector of header and 32 of entries (the MBR comes on top at the start).
	ends = 33 * sector
	// Align is where partitions start: any erase block, RAID chunk or cluster divides it.
	Align = size.MiB
	// maxName is the room for a name, in UTF-16 units.
	maxName = 36
)

// Table is a partition table. Size is the medium's, as far as the table knows: the end of its backup.
type Table struct {
	Disk       string // GUID of the medium; of an MBR its signature
	Size       size.Size
	Partitions []Partition // by number
	FromBackup bool        // read from the backup, as the table at the start of the medium is damaged
}

// Partition is one entry. Start and Size are bytes. Of an MBR, Type has two hexadecimal digits, and GUID is the PARTUUID.
type Partition struct {
	Number     int       `json:"number"` // from 1
	Name       string    `json:"name"`
	Type       string    `json:"type"`
	GUID       string    `json:"guid"`
	Start      size.Size `json:"start"`
	Size       size.Size `json:"size"`
	Attributes uint64    `json:"attributes"`
}

// Find gives the partition of this name.
func (t Table) Find(name string) (Partition, bool) {
	for _, p := range t.Partitions {
		if p.Name == name {
			return p, true
		}
	}
	return Partition{}, false
}

// Check gives all that is wrong with a table that is about to be written.
func (t Table) Check() error {
	var faults []error
	if t.MBR() {
		faults = t.checkMBR()
	} else {
		faults = t.checkGPT()
	}
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if t.Size%sector != 0 {
		fault("size of the medium: want a multiple of 512 bytes, have %s", t.Size)
	}
	guids, numbers := map[string]string{strings.ToLower(t.Disk): "the disk"}, map[int]string{}
	for i, p := range t.Partitions {
		faults = append(faults, p.check(t.Size-t.ends())...)
		if other, taken := guids[strings.ToLower(p.GUID)]; taken {
			fault("partition %s: has the GUID of %s: %s", p.Name, other, p.GUID)
		}
		if other, taken := numbers[p.Number]; taken {
			fault("partition %s: has the number of %s: %d", p.Name, other, p.Number)
		}
		guids[strings.ToLower(p.GUID)], numbers[p.Number] = p.Name, p.Name
		for _, q := range t.Partitions[:i] {
			if p.Start < q.Start+q.Size && q.Start < p.Start+p.Size {
				fault("partition %s: overlaps %s: starts at %s, which ends at %s", p.Name, q.Name, p.Start, q.Start+q.Size)
			}
		}
	}
	return errors.Join(faults...)
}

// checkGPT gives what is wrong with a GPT beyond what any table may have wrong.
func (t Table) checkGPT() (faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !isGUID(t.Disk) {
		fault("disk GUID: want 8-4-4-4-12 hex digits, have %q", t.Disk)
	}
	if len(t.Partitions) > 128 {
		fault("have %d partitions, want at most 128", len(t.Partitions))
	}
	for _, p := range t.Partitions {
		if n := len(utf16.Encode([]rune(p.Name))); n == 0 || n > maxName {
			fault("partition %s: name has %d UTF-16 units, want 1 to %d", p.Name, n, maxName)
		}
		if !isGUID(p.Type) || !isGUID(p.GUID) {
			fault("partition %s: type and GUID: want 8-4-4-4-12 hex digits, have %q and %q", p.Name, p.Type, p.GUID)
		}
		if p.Number < 1 || p.Number > 128 {
			fault("partition %s: number %d, want 1 to 128", p.Name, p.Number)
		}
	}
	return faults
}

// ends is what the table itself takes at the end of the medium.
func (t Table) ends() size.Size {
	if t.MBR() {
		return 0
	}
	return ends
}

// check looks at a partition's place; last is where the room for partitions ends.
func (p Partition) check(last size.Size) (faults []error) {
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("partition %s: "+format, append([]any{p.Name}, args...)...))
	}
	if p.Start <= 0 || p.Start%Align != 0 {
		fault("starts at %s, want a multiple of %s, and not 0", p.Start, Align)
	}
	if p.Size <= 0 || p.Size%sector != 0 {
		fault("size %s, want a multiple of 512 bytes, and not 0", p.Size)
	}
	if end := p.Start + p.Size; end > last {
		fault("ends at %s, that is %s too far: the room for partitions ends at %s", end, (end - last).Short(), last.Short())
	}
	return faults
}

func isGUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range s {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", c) {
			return false
		}
	}
	return true
}
