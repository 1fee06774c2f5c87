package partition

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/diskfs/go-diskfs/partition/mbr"

	"grove/internal/size"
)

// Types of the partitions of an MBR, two hexadecimal digits.
const (
	TypeFAT32 = "0c" // with LBA
	TypeLinux = "83"
)

// Active is the attribute of the partition that a boot loader looks at first: of an MBR its active flag, of a GPT "legacy BIOS bootable" (UEFI 2.10, table 5.8).
const Active = 1 << 2

// mbrNames are what the partitions of an MBR are called, by their number less one: the table itself has no room for names, and Grove's are always these.
var mbrNames = []string{"GROVE-BOOT", "system-a", "system-b", "state"}

const (
	signatureAt = 440 // 4 bytes, by which Linux knows the medium
	// mbrLimit is where 32 bits of sectors end.
	mbrLimit = math.MaxUint32 * sector
)

// MBR tells whether the table is one: its disk is then a signature of 8 hexadecimal digits, no GUID.
func (t Table) MBR() bool { return len(t.Disk) == 8 }

// PartUUID is how Linux knows a partition of an MBR (PARTUUID=): the disk's signature and the number.
func PartUUID(signature string, number int) string { return fmt.Sprintf("%s-%02x", signature, number) }

// ReadMBR reads the four primary entries of a medium of this size. The protective MBR of a GPT is none, and neither is a table with logical partitions.
func ReadMBR(r io.ReaderAt, medium size.Size) (Table, error) {
	found, err := mbr.Read(device{ReaderAt: r}, int(sector), int(sector))
	if err != nil {
		return Table{}, fmt.Errorf("read the partition table: %w", err)
	}
	t := Table{Disk: found.UUID(), Size: medium / sector * sector}
	for _, p := range found.Partitions {
		switch p.Type {
		case 0:
			continue
		case 0xee:
			return Table{}, errors.New("read the partition table: it is the protective MBR of a GPT")
		case 0x05, 0x0f, 0x85:
			return Table{}, fmt.Errorf("read the partition table: partition %d holds logical ones", p.Index)
		}
		one := Partition{Number: p.Index, Name: mbrNames[p.Index-1], Type: fmt.Sprintf("%02x", p.Type), GUID: PartUUID(t.Disk, p.Index),
			Start: size.Size(p.Start) * sector, Size: size.Size(p.Size) * sector}
		if p.Bootable {
			one.Attributes = Active
		}
		t.Partitions = append(t.Partitions, one)
	}
	if len(t.Partitions) == 0 {
		return Table{}, errors.New("read the partition table: the MBR has no partition")
	}
	return t, nil
}

// writeMBR writes the entries in one piece, which a medium takes as a whole or not at all since it lies within a sector; then the signature, which a table that grows has
// already.
func writeMBR(w io.WriterAt, t Table) error {
	table := &mbr.Table{Partitions: []*mbr.Partition{{}, {}, {}, {}}}
	for _, p := range t.Partitions {
		kind, err := strconv.ParseUint(p.Type, 16, 8)
		if err != nil {
			return err // Check has looked
		}
		*table.Partitions[p.Number-1] = mbr.Partition{Bootable: p.Attributes&Active != 0, Type: mbr.Type(kind), Start: uint32(p.Start / sector), Size: uint32(p.Size / sector),
			StartHead: 0xfe, StartSector: 0xff, StartCylinder: 0xff, EndHead: 0xfe, EndSector: 0xff, EndCylinder: 0xff} // "beyond what cylinders can say"
	}
	to := device{w: w}
	if err := table.Write(to, int64(t.Size)); err != nil {
		return err
	}
	number, err := strconv.ParseUint(t.Disk, 16, 32)
	if err != nil {
		return err
	}
	if _, err := w.WriteAt(binary.LittleEndian.AppendUint32(nil, uint32(number)), signatureAt); err != nil {
		return err
	}
	return to.Sync()
}

// checkMBR gives what is wrong with an MBR beyond what any table may have wrong.
func (t Table) checkMBR() (faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !isHex(t.Disk, 8) || t.Disk == "00000000" {
		fault("disk signature: want 8 hex digits, not all 0, have %q", t.Disk)
	}
	active := 0
	for _, p := range t.Partitions {
		if p.Number < 1 || p.Number > len(mbrNames) {
			fault("partition %s: number %d, want 1 to %d in an MBR", p.Name, p.Number, len(mbrNames))
		} else if p.Name != mbrNames[p.Number-1] {
			fault("partition %s: is number %d, which is %s's in an MBR", p.Name, p.Number, mbrNames[p.Number-1])
		}
		if !isHex(p.Type, 2) || p.GUID != PartUUID(t.Disk, p.Number) {
			fault("partition %s: type and PARTUUID: want 2 hex digits and %s, have %q and %q", p.Name, PartUUID(t.Disk, p.Number), p.Type, p.GUID)
		}
		if p.Start+p.Size > mbrLimit {
			fault("partition %s: ends at %s, an MBR goes to 2 TiB", p.Name, p.Start+p.Size)
		}
		if p.Attributes&Active != 0 {
			active++
		}
	}
	if active > 1 {
		fault("have %d active partitions, want at most 1", active)
	}
	return faults
}

func isHex(s string, digits int) bool {
	return len(s) == digits && strings.Trim(s, "0123456789abcdef") == ""
}
