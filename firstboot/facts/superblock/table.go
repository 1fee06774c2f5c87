package superblock

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"grove/internal/partition"
	"grove/internal/size"
)

// Table is a partition table.
type Table struct {
	Kind       string // gpt or dos
	ID         string // GUID of a GPT, 8 hex digits of a dos one
	FromBackup bool   // the one at the start is damaged or gone
	Parts      []Part
}

// Part is an entry.
type Part struct {
	Number     int
	Type, UUID string // UUID is the PARTUUID as the kernel takes it
	Name       string
}

func readTable(r io.ReaderAt, b []byte, length size.Size) *Table {
	if t, err := partition.Read(r, length); err == nil {
		gpt := &Table{Kind: "gpt", ID: strings.ToLower(t.Disk), FromBackup: t.FromBackup}
		for _, p := range t.Partitions {
			gpt.Parts = append(gpt.Parts, Part{Number: p.Number, Type: strings.ToLower(p.Type), UUID: strings.ToLower(p.GUID), Name: p.Name})
		}
		return gpt
	}
	return readDOS(b)
}

// readDOS reads the four primary entries. The signature at 510 is also that of a boot sector of FAT and NTFS, where code stands in their place.
func readDOS(b []byte) *Table {
	const entries = 446
	if b[510] != 0x55 || b[511] != 0xaa || string(b[3:7]) == "NTFS" || string(b[0x36:0x39]) == "FAT" || string(b[0x52:0x55]) == "FAT" {
		return nil
	}
	t := &Table{Kind: "dos", ID: fmt.Sprintf("%08x", binary.LittleEndian.Uint32(b[440:]))}
	for i := range 4 {
		e := b[entries+16*i:][:16]
		if e[0]&0x7f != 0 {
			return nil
		}
		if e[4] != 0 {
			t.Parts = append(t.Parts, Part{Number: i + 1, Type: fmt.Sprintf("0x%x", e[4]), UUID: fmt.Sprintf("%s-%02x", t.ID, i+1)})
		}
	}
	if len(t.Parts) == 0 && t.ID == "00000000" {
		return nil
	}
	return t
}
