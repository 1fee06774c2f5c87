package bootloader

import (
	"encoding/binary"
	"fmt"

	"grove/internal/size"
	"grove/internal/spec"
)

const (
	sector   = 512
	codeSize = 440 // behind it lie the disk signature and the partition entries of the MBR
)

// patchCode makes the boot code of boot.img, whose core starts at a partition. What is checked is what GRUB 2.06 and 2.12 have there.
func patchCode(boot []byte, place spec.Partition) ([]byte, error) {
	const core, drive, check = 0x5c, 0x64, 0x66
	le := binary.LittleEndian
	if len(boot) != sector || le.Uint16(boot[510:]) != 0xaa55 || le.Uint64(boot[core:]) != 1 || boot[drive] != 0xff || boot[check] != 0xeb {
		return nil, fmt.Errorf("boot.img of %d bytes is not as in GRUB 2.06 to 2.12", len(boot))
	}
	code := append([]byte(nil), boot[:codeSize]...)
	le.PutUint64(code[core:], uint64(place.Start/sector))
	code[check], code[check+1] = 0x90, 0x90
	return code, nil
}

// patchCore makes the core read its rest from behind its first sector. It lies in one piece, so one entry of the block list is enough.
func patchCore(core []byte, place spec.Partition) ([]byte, error) {
	const start, count, segment = 0x1f4, 0x1fc, 0x1fe
	if size.Size(len(core)) > place.Size {
		return nil, fmt.Errorf("core.img does not fit partition %s: have %d bytes, want at most %s", place.Role, len(core), place.Size)
	}
	rest := (len(core)+sector-1)/sector - 1
	le := binary.LittleEndian
	if len(core) < 2*sector || le.Uint64(core[start:]) != 2 || int(le.Uint16(core[count:])) != rest || le.Uint16(core[segment:]) != 0x820 {
		return nil, fmt.Errorf("core.img of %d bytes is not as in GRUB 2.06 to 2.12: its block list does not hold %d sectors from 2", len(core), rest)
	}
	core = append([]byte(nil), core...)
	le.PutUint64(core[start:], uint64(place.Start/sector)+1)
	return core, nil
}
