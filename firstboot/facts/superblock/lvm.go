package superblock

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"grove/internal/size"
)

// Group is an LVM volume group, as the metadata on one of its physical volumes tells.
type Group struct {
	Name, UUID string
	Sequence   int64 // goes up with every change: of two that differ, the higher is true
	Tags       []string
	Size, Free size.Size // Free is right for linear volumes, of which Grove's are
	PVs        []string  // UUIDs
	Volumes    []Volume
}

// Volume is a logical volume.
type Volume struct {
	Name, UUID string
	Size       size.Size
}

// readLVM finds the label in one of the first four sectors, and by it the physical volume's header (lib/format_text/layout.h, lib/label/label.h of LVM2):
//
//	label   0 LABELONE  8 sector  16 CRC of what follows  20 offset of the header  24 "LVM2 001"
//	header  0 UUID of 32 letters  32 size  40 data areas, metadata areas: 8 bytes offset, 8 bytes size, each list ends with two zeros
func readLVM(r io.ReaderAt, b []byte) *Found {
	for sector := int64(0); sector < 4; sector++ {
		s := b[sector*512:][:512]
		if string(s[:8]) != "LABELONE" || string(s[24:32]) != "LVM2 001" || binary.LittleEndian.Uint32(s[16:]) != sumLVM(s[20:]) {
			continue
		}
		at := binary.LittleEndian.Uint32(s[20:])
		if at > 512-40 {
			continue
		}
		header := s[at:]
		f := &Found{Type: "LVM2_member", Offset: sector*512 + 24, UUID: uuidLVM(string(header[:32]))}
		_, rest := areas(header[40:])
		metadata, _ := areas(rest)
		for _, a := range metadata {
			if f.Group = readMetadata(r, a); f.Group != nil {
				break
			}
		}
		return f
	}
	return nil
}

type area struct{ offset, size int64 }

func areas(b []byte) (list []area, rest []byte) {
	for len(b) >= 16 {
		a := area{int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint64(b[8:]))}
		b = b[16:]
		if a == (area{}) {
			return list, b
		}
		list = append(list, a)
	}
	return list, nil
}

// most is the longest metadata that is read: LVM's own area has 1 MiB.
const most = 4 << 20

// readMetadata reads an area's header, one sector, and the text that it points to. The area is a ring: what is over its end goes on behind the header.
//
//	0 CRC of what follows  4 magic  20 version  24 start  32 size  40 where the text is: 8 bytes offset, 8 bytes size, 4 bytes CRC
func readMetadata(r io.ReaderAt, a area) *Group {
	h := make([]byte, 512)
	if _, err := r.ReadAt(h, a.offset); err != nil || string(h[4:20]) != " LVM2 x[5A%r0N*>" || binary.LittleEndian.Uint32(h) != sumLVM(h[4:]) {
		return nil
	}
	offset, length := int64(binary.LittleEndian.Uint64(h[40:])), int64(binary.LittleEndian.Uint64(h[48:]))
	if offset < 512 || length <= 0 || length > most || a.size < 512 || offset > a.size || length > a.size-512 {
		return nil // offset 0: no group yet
	}
	b := make([]byte, length)
	first := min(length, a.size-offset)
	if _, err := r.ReadAt(b[:first], a.offset+offset); err != nil {
		return nil
	}
	if _, err := r.ReadAt(b[first:], a.offset+512); err != nil {
		return nil
	}
	if binary.LittleEndian.Uint32(h[56:]) != sumLVM(b) {
		return nil
	}
	return group(parse(string(bytes.TrimRight(b, "\x00"))))
}

// sumLVM is calc_crc of lib/misc/crc.c: CRC-32 with a seed of its own and no inversion at either end.
func sumLVM(b []byte) uint32 { return ^crc32.Update(^uint32(0xf597a6cf), crc32.IEEETable, b) }

// uuidLVM writes 32 letters as LVM does, 6-4-4-4-4-4-6.
func uuidLVM(s string) string {
	if s = text([]byte(s)); len(s) != 32 {
		return s
	}
	return strings.Join([]string{s[:6], s[6:10], s[10:14], s[14:18], s[18:22], s[22:26], s[26:]}, "-")
}

// group takes out of the metadata's sections what Grove asks for. The group's own is the one section at the top; extents are counted in sectors.
func group(top section) *Group {
	for _, name := range top.names() {
		in := top.section(name)
		extent := size.Size(in.number("extent_size")) * 512
		g := &Group{Name: name, UUID: in.text("id"), Sequence: in.number("seqno"), Tags: in.list("tags")}
		pvs, lvs := in.section("physical_volumes"), in.section("logical_volumes")
		for _, pv := range pvs.names() {
			g.PVs = append(g.PVs, pvs.section(pv).text("id"))
			g.Size += size.Size(pvs.section(pv).number("pe_count")) * extent
		}
		g.Free = g.Size
		for _, name := range lvs.names() {
			lv := lvs.section(name)
			v := Volume{Name: name, UUID: lv.text("id")}
			for _, s := range lv.names() {
				v.Size += size.Size(lv.section(s).number("extent_count")) * extent
			}
			g.Free -= v.Size
			g.Volumes = append(g.Volumes, v)
		}
		slices.SortFunc(g.Volumes, func(a, b Volume) int { return strings.Compare(a.Name, b.Name) })
		return g
	}
	return nil
}
