package partition

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"unicode/utf16"

	"grove/internal/size"
)

// Read reads the table of a medium of this size. The checksums of header and entries are verified; when those at the start are wrong, the backup at
// the end of the medium is taken. It believes no number before its checksum and limits those it believes: a node reads every disk it finds.
func Read(r io.ReaderAt, medium size.Size) (Table, error) {
	last := int64(medium/sector) - 1
	t, err := readAt(r, 1, last)
	if err == nil {
		return t, nil
	}
	t, backup := readAt(r, last, last)
	if backup != nil {
		return Table{}, fmt.Errorf("read the partition table: at the start: %w; at the end: %w", err, backup)
	}
	t.FromBackup = true
	return t, nil
}

// readAt reads the header at a sector, and its entries. last is the medium's last sector.
func readAt(r io.ReaderAt, lba, last int64) (Table, error) {
	h := make([]byte, sector)
	if _, err := r.ReadAt(h, lba*int64(sector)); err != nil {
		return Table{}, err
	}
	le := binary.LittleEndian
	if !bytes.Equal(h[:8], []byte("EFI PART")) {
		return Table{}, errors.New("no GPT header")
	}
	length, sum := le.Uint32(h[12:]), le.Uint32(h[16:])
	clear(h[16:20])
	if length < 92 || length > uint32(sector) || crc32.ChecksumIEEE(h[:length]) != sum {
		return Table{}, errors.New("checksum of the GPT header is wrong")
	}
	if le.Uint64(h[24:]) != uint64(lba) {
		return Table{}, fmt.Errorf("GPT header of sector %d found at sector %d", le.Uint64(h[24:]), lba)
	}
	// The header at the start names the backup's place, the backup is its own.
	end := max(le.Uint64(h[24:]), le.Uint64(h[32:]))
	first, count, each := le.Uint64(h[72:]), le.Uint32(h[80:]), le.Uint32(h[84:])
	if count > 1024 || each < 128 || each > 4096 || first > uint64(last) || end > math.MaxInt64/uint64(sector)-1 {
		return Table{}, fmt.Errorf("GPT has %d entries of %d bytes at sector %d, backup at sector %d", count, each, first, end)
	}
	entries := make([]byte, count*each)
	if _, err := r.ReadAt(entries, int64(first)*int64(sector)); err != nil {
		return Table{}, err
	}
	if crc32.ChecksumIEEE(entries) != le.Uint32(h[88:]) {
		return Table{}, errors.New("checksum of the GPT entries is wrong")
	}
	t := Table{Disk: guid(h[56:]), Size: size.Size(end+1) * sector}
	for i := range int(count) {
		p, used, err := decode(entries[i*int(each):], i+1)
		if err != nil {
			return Table{}, err
		}
		if used {
			t.Partitions = append(t.Partitions, p)
		}
	}
	return t, nil
}

func decode(b []byte, number int) (p Partition, used bool, err error) {
	le := binary.LittleEndian
	if bytes.Equal(b[:16], make([]byte, 16)) {
		return p, false, nil
	}
	start, end := le.Uint64(b[32:]), le.Uint64(b[40:])
	if end < start || end > math.MaxInt64/uint64(sector)-1 {
		return p, false, fmt.Errorf("GPT entry %d goes from sector %d to %d", number, start, end)
	}
	var name []uint16
	for i := 56; i < 56+2*maxName && le.Uint16(b[i:]) != 0; i += 2 {
		name = append(name, le.Uint16(b[i:]))
	}
	return Partition{
		Number: number, Name: string(utf16.Decode(name)), Type: guid(b), GUID: guid(b[16:]), Attributes: le.Uint64(b[48:]),
		Start: size.Size(start) * sector, Size: size.Size(end-start+1) * sector,
	}, true, nil
}

// guid writes 16 bytes as text: the first three fields are little-endian (UEFI 2.10, appendix A).
func guid(b []byte) string {
	le := binary.LittleEndian
	return fmt.Sprintf("%08x-%04x-%04x-%x-%x", le.Uint32(b), le.Uint16(b[4:]), le.Uint16(b[6:]), b[8:10], b[10:16])
}
