// Package superblock reads, out of the first and last KiB of a device, what Grove itself puts there and what it meets most: md arrays, LVM, ext4, XFS, swap, LUKS,
// partition tables.
//
// It stands beside blkid and wipefs, not in their place: they take 60 to 180 ms a device in a node under TCG, this takes less than one, and every boot looks
// at every disk before mongod starts. What is found here is there. What is not found proves nothing: a device that looks empty is theirs to judge. Types
// have blkid's names, offsets are wipefs's.
//
// Nothing is believed without its checksum, where it has one, and no length beyond a bound: a node reads every disk that is put into it.
package superblock

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"grove/internal/size"
)

// Device is what was found, in the order of the table of readers.
type Device struct {
	Found []Found
	Table *Table // nil: none
	// Other tells of bytes that are not 0 before what was found, where whoever made it leaves none: somebody else has written there, too.
	Other bool
}

// Found is a superblock.
type Found struct {
	Type       string // ext4, xfs, swap, linux_raid_member, LVM2_member, crypto_LUKS
	Offset     int64  // of the magic number
	UUID       string // of an LVM2_member, the physical volume's
	Label      string
	Unfinished bool // mkfs.xfs says so until it is done
	Member     *Member
	Group      *Group // of an LVM2_member that belongs to one
}

// head is how much of the start is read: the md superblock at 4 KiB and 384 devices in it.
const head = 8 << 10

// Read looks at a device of this size.
func Read(r io.ReaderAt, length size.Size) (Device, error) {
	b := make([]byte, min(head, int64(length)))
	if _, err := r.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return Device{}, fmt.Errorf("read the start of the device: %w", err)
	}
	b = append(b, make([]byte, head-len(b))...)
	var d Device
	begin := int64(head)
	for _, known := range []struct {
		start int64 // of what its maker writes
		read  func([]byte) *Found
	}{{4096, readMD}, {512, func(b []byte) *Found { return readLVM(r, b) }}, {1024, readExt}, {0, readXFS}, {1024, readSwap}, {0, readLUKS}} {
		if f := known.read(b); f != nil {
			d.Found = append(d.Found, *f)
			begin = min(begin, known.start)
		}
	}
	d.Table = readTable(r, b, length)
	d.Other = len(d.Found) > 0 && d.Table == nil && slices.ContainsFunc(b[:begin], func(c byte) bool { return c != 0 })
	return d, nil
}

// canonical writes 16 bytes as a UUID.
func canonical(b []byte) string {
	h := hex.EncodeToString(b[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// text is a field that ends with the first NUL, without what would move a terminal's cursor.
func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(bytes.TrimSpace(bytes.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return -1
		}
		return r
	}, b)))
}

// Features of ext2 and its heirs: Documentation/filesystems/ext4/super.rst.
const (
	hasJournal  = 0x4                         // compat
	journalOnly = 0x8                         // incompat: a journal of another file system
	newIncompat = ^uint32(0x1 | 2 | 4 | 0x10) // what is not ext3's: compression, filetype, recover, meta_bg
	newROCompat = ^uint32(0x1 | 2 | 4)        // sparse_super, large_file, btree_dir
)

// readExt reads s_magic at 0x38 of the superblock at 1024, s_uuid, s_volume_name. The name of the kind follows libblkid (superblocks/ext.c).
func readExt(b []byte) *Found {
	s := b[1024:2048]
	if binary.LittleEndian.Uint16(s[0x38:]) != 0xef53 {
		return nil
	}
	compat, incompat, roCompat := binary.LittleEndian.Uint32(s[0x5c:]), binary.LittleEndian.Uint32(s[0x60:]), binary.LittleEndian.Uint32(s[0x64:])
	kind := "ext2"
	switch {
	case incompat&journalOnly != 0:
		kind = "jbd"
	case incompat&newIncompat != 0 || roCompat&newROCompat != 0:
		kind = "ext4"
	case compat&hasJournal != 0:
		kind = "ext3"
	}
	return &Found{Type: kind, Offset: 0x438, UUID: canonical(s[0x68:]), Label: text(s[0x78 : 0x78+16])}
}

// readXFS reads struct xfs_dsb: sb_uuid at 32, sb_fname at 108, sb_inprogress at 126.
func readXFS(b []byte) *Found {
	if string(b[:4]) != "XFSB" {
		return nil
	}
	return &Found{Type: "xfs", UUID: canonical(b[32:]), Label: text(b[108 : 108+12]), Unfinished: b[126] != 0}
}

// readSwap reads the header of a page of 4 KiB (include/linux/swap.h): version at 1024, UUID and label behind it, magic in the last 10 bytes.
func readSwap(b []byte) *Found {
	if string(b[4086:4096]) != "SWAPSPACE2" || binary.LittleEndian.Uint32(b[1024:]) != 1 {
		return nil
	}
	return &Found{Type: "swap", Offset: 0xff6, UUID: canonical(b[1036:]), Label: text(b[1052 : 1052+16])}
}

// readLUKS reads the header of both versions: UUID at 168 as text; only the second has a label, at 24.
func readLUKS(b []byte) *Found {
	if string(b[:6]) != "LUKS\xba\xbe" {
		return nil
	}
	f := &Found{Type: "crypto_LUKS", UUID: text(b[168 : 168+40])}
	if binary.BigEndian.Uint16(b[6:]) == 2 {
		f.Label = text(b[24 : 24+48])
	}
	return f
}
