// Package filesystem makes the file systems of an image without root: FAT32 by itself, ext4 and squashfs as command lines for mke2fs and mksquashfs.
//
// FAT32 is written here since nothing at hand did it whole, tried with 60 MB in 3 files on 256 MiB, 2 cores:
//
//	go-diskfs 1.9.4   wrong FAT size at 64, 129, 194, ... MiB, wrong ".." in folders of the root and no count of free clusters
//	                  (fsck.vfat), times out of an environment variable; 3.5 s
//	mkfs.vfat, mcopy  clean, but two more tools to bring along, and times of today; 0.07 s
//	this              clean for every size from 33 to 600 MiB; 0.03 s
//
// It writes a file system once, in one pass, from a known list of files: each lies in one piece, in the order of the paths, so that a boot loader
// reads long runs and the same list always gives the same bytes. Nothing is ever deleted or appended. Limits: 33 MiB to 2 TiB, files below 4 GiB.
package filesystem

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"grove/internal/size"
)

// FAT is a FAT32 file system to be made. Start is where it lies in the medium, which is where it is written and what it says of itself.
type FAT struct {
	Label string // at most 11 characters
	ID    uint32 // volume id
	Time  int64  // of all files, seconds since 1970; 1980 is the earliest
	Start size.Size
	Size  size.Size
}

// File is one file: the bytes of the file From, or Data when From is empty. Path is relative, with slashes.
type File struct {
	Path string
	From string
	Data []byte
}

// Write makes the file system on w. Clusters that are free, and the ends of files' last clusters, are not written. add, which may be nil, is told of the bytes of files as they are written.
func (f FAT) Write(ctx context.Context, w io.WriterAt, files []File, add func(n int64)) error {
	g, err := f.geometry()
	if err != nil {
		return err
	}
	root, err := tree(files)
	if err != nil {
		return err
	}
	next, err := g.place(root)
	if err != nil {
		return err
	}
	out := io.NewOffsetWriter(w, int64(f.Start))
	if err := g.writeHead(out, f, root, next); err != nil {
		return fmt.Errorf("write FAT: %w", err)
	}
	return g.writeNodes(ctx, out, f, root, add)
}

// Used is the room that files take in the file system, and Room what there is, in bytes; both count whole clusters. Write refuses when Used is larger.
func (f FAT) Used(files []File) (used, room size.Size, err error) {
	g, err := f.geometry()
	if err != nil {
		return 0, 0, err
	}
	root, err := tree(files)
	if err != nil {
		return 0, 0, err
	}
	return size.Size(g.need(root)) * g.cluster(), size.Size(g.clusters) * g.cluster(), nil
}

// geometry is where things lie, in sectors of 512 bytes from the start:
//
//	0 boot sector, 1 FSInfo, 6 and 7 their copies, up to `reserved`
//	two FATs of `fat` sectors
//	clusters of `per` sectors, numbered from 2
type geometry struct {
	total, reserved, fat, per uint32
	clusters                  uint32
}

const (
	sector = 512
	// leastClusters makes it FAT32 and not FAT16 to all who count clusters; 16 more since some count wrong (Microsoft's FAT specification 1.03, page 15).
	leastClusters = 65525 + 16
	// dataAlign is GRUB's unit of reading, in sectors: a cluster then never lies across two.
	dataAlign = 64
)

// geometry takes the largest cluster up to 32 KiB that leaves enough of them: a boot loader follows the chain cluster by cluster.
func (f FAT) geometry() (geometry, error) {
	if f.Size%sector != 0 || f.Start%sector != 0 || f.Size/sector >= 1<<32 {
		return geometry{}, fmt.Errorf("FAT32 of %s at %s: want whole sectors of 512 bytes, and below 2 TiB", f.Size, f.Start)
	}
	if len(f.Label) == 0 || len(f.Label) > 11 || shortPart(f.Label, 11) != f.Label {
		return geometry{}, fmt.Errorf("FAT32 label %q: want 1 to 11 of A to Z, 0 to 9, - and _", f.Label)
	}
	for per := uint32(64); per > 0; per /= 2 {
		if g := layout(uint32(f.Size/sector), per); g.clusters >= leastClusters && g.clusters < 0x0ffffff5 {
			return g, nil
		}
	}
	return geometry{}, fmt.Errorf("FAT32 of %s: want at least 33MiB", f.Size)
}

func layout(total, per uint32) geometry {
	const least = 32
	g := geometry{total: total, reserved: least, per: per}
	if total < least+dataAlign {
		return g
	}
	// A FAT for all sectors as if nothing else were there is at most a few sectors too long.
	g.fat = ((total-least)/per + 2 + sector/4 - 1) / (sector / 4)
	g.reserved += (dataAlign - (g.reserved+2*g.fat)%dataAlign) % dataAlign
	if head := g.reserved + 2*g.fat; total > head {
		g.clusters = (total - head) / per
	}
	return g
}

func (g geometry) cluster() size.Size { return size.Size(g.per) * sector }

// offset is where a cluster starts, in bytes.
func (g geometry) offset(cluster uint32) int64 {
	return int64(g.reserved+2*g.fat+(cluster-2)*g.per) * sector
}

// writeHead writes what is before the clusters, with the free part of the FATs: a medium that is written by extents only may hold anything in what is
// left out. The chains need no walk: each thing lies in one piece.
func (g geometry) writeHead(w io.WriterAt, f FAT, root *node, next uint32) error {
	head := make([]byte, int64(g.reserved+2*g.fat)*sector)
	for at, data := range map[int][]byte{0: g.bootSector(f), 1: g.infoSector(next)} {
		copy(head[at*sector:], data)
		copy(head[(at+6)*sector:], data)
	}
	table := head[g.reserved*sector:][:g.fat*sector]
	le := binary.LittleEndian
	le.PutUint32(table[0:], 0x0ffffff8)
	le.PutUint32(table[4:], 0x0fffffff)
	root.walk(func(n *node) {
		for i := range n.count {
			link := n.first + i + 1
			if i == n.count-1 {
				link = 0x0fffffff
			}
			le.PutUint32(table[(n.first+i)*4:], link)
		}
	})
	copy(head[(g.reserved+g.fat)*sector:], table)
	_, err := w.WriteAt(head, 0)
	return err
}

func (g geometry) bootSector(f FAT) []byte {
	b := make([]byte, sector)
	le := binary.LittleEndian
	copy(b[0:], "\xeb\x58\x90MSWIN4.1") // the name that the fewest readers stumble over, says the specification
	le.PutUint16(b[11:], sector)
	b[13] = byte(g.per)
	le.PutUint16(b[14:], uint16(g.reserved))
	b[16] = 2                 // FATs
	b[21] = 0xf8              // a fixed disk
	le.PutUint16(b[24:], 63)  // sectors a track, as every BIOS says
	le.PutUint16(b[26:], 255) // heads
	le.PutUint32(b[28:], uint32(f.Start/sector))
	le.PutUint32(b[32:], g.total)
	le.PutUint32(b[36:], g.fat)
	le.PutUint32(b[44:], 2) // cluster of the root
	le.PutUint16(b[48:], 1) // FSInfo
	le.PutUint16(b[50:], 6) // copy of this sector
	b[64], b[66] = 0x80, 0x29
	le.PutUint32(b[67:], f.ID)
	copy(b[71:], f.label())
	copy(b[82:], "FAT32   ")
	copy(b[90:], "\xcd\x18\xf4\xeb\xfd") // int 18h: nothing to boot here
	b[510], b[511] = 0x55, 0xaa
	return b
}

func (g geometry) infoSector(next uint32) []byte {
	b := make([]byte, sector)
	le := binary.LittleEndian
	copy(b[0:], "RRaA")
	copy(b[484:], "rrAa")
	le.PutUint32(b[488:], g.clusters-(next-2))
	if next-2 < g.clusters {
		le.PutUint32(b[492:], next)
	} else {
		le.PutUint32(b[492:], 0xffffffff)
	}
	b[510], b[511] = 0x55, 0xaa
	return b
}

func (f FAT) label() []byte { return fmt.Appendf(nil, "%-11.11s", f.Label) }

// writeNodes writes folders and files, in the order in which they lie.
func (g geometry) writeNodes(ctx context.Context, w io.WriterAt, f FAT, root *node, add func(int64)) error {
	buf := make([]byte, 1<<20)
	var failed error
	root.walk(func(n *node) {
		if failed != nil || n.count == 0 {
			return
		}
		if n.folder {
			_, failed = w.WriteAt(g.folder(n, f), g.offset(n.first))
			return
		}
		if err := n.copy(ctx, io.NewOffsetWriter(w, g.offset(n.first)), buf, add); err != nil {
			failed = fmt.Errorf("write %s to FAT: %w", n.path, err)
		}
	})
	return failed
}

func (n *node) copy(ctx context.Context, w io.Writer, buf []byte, add func(int64)) error {
	if n.file.From == "" {
		_, err := w.Write(n.file.Data)
		if add != nil {
			add(n.size)
		}
		return err
	}
	r, err := os.Open(n.file.From)
	if err != nil {
		return err
	}
	defer r.Close()
	for left := n.size; left > 0; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		k, err := io.ReadFull(r, buf[:min(left, int64(len(buf)))])
		if err != nil {
			return fmt.Errorf("read %s: %w", n.file.From, err)
		}
		if _, err := w.Write(buf[:k]); err != nil {
			return err
		}
		left -= int64(k)
		if add != nil {
			add(int64(k))
		}
	}
	return nil
}
