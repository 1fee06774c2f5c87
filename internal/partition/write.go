package partition

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/diskfs/go-diskfs/partition/gpt"

	"grove/internal/size"
)

// Write checks the table and writes it: an MBR in place, a GPT's backup first, then the one at the start; each piece reaches the medium before the next if w has Sync, so
// that Read finds the old or the new table whenever the power goes. The boot code in LBA 0 is left as it is.
func Write(w io.WriterAt, t Table) error {
	if err := t.Check(); err != nil {
		return fmt.Errorf("write the partition table: %w", err)
	}
	if t.MBR() {
		if err := writeMBR(w, t); err != nil {
			return fmt.Errorf("write the partition table: %w", err)
		}
		return nil
	}
	table := &gpt.Table{LogicalSectorSize: int(sector), PhysicalSectorSize: int(sector), GUID: t.Disk, ProtectiveMBR: true}
	for _, p := range t.Partitions {
		table.Partitions = append(table.Partitions, &gpt.Partition{
			Index: p.Number, Name: p.Name, Type: gpt.Type(strings.ToUpper(p.Type)), GUID: p.GUID, Attributes: p.Attributes,
			Start: uint64(p.Start / sector), End: uint64((p.Start+p.Size)/sector) - 1,
		})
	}
	if err := table.Write(device{w: w, size: t.Size}, int64(t.Size)); err != nil {
		return fmt.Errorf("write the partition table: %w", err)
	}
	return nil
}

// device is what go-diskfs wants a disk to be: one that is read, or one that is written to.
type device struct {
	fs.File
	io.ReaderAt
	io.Seeker
	w    io.WriterAt
	size size.Size // of a GPT's medium
}

// WriteAt puts right what go-diskfs gets wrong in the protective MBR: a medium of more than 2 TiB has 0xffffffff sectors there, not the lower half of
// their number (UEFI 2.10, table 5.4).
func (m device) WriteAt(b []byte, off int64) (int, error) {
	const entry, sectors = 446, 12
	if off == entry && m.size > 0 { // not of an MBR's own entries
		b = slices.Clone(b)
		binary.LittleEndian.PutUint32(b[sectors:], uint32(min(m.size/sector-1, math.MaxUint32)))
	}
	return m.w.WriteAt(b, off)
}

// Sync see Write.
func (m device) Sync() error {
	if s, ok := m.w.(interface{ Sync() error }); ok {
		return s.Sync()
	}
	return nil
}

// Close is asked of nobody; the medium stays open.
func (m device) Close() error { return nil }
