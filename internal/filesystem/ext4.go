package filesystem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"grove/internal/size"
)

// Ext4 is an empty file system to be made by mke2fs 1.47, small and able to grow while mounted.
type Ext4 struct {
	Label string // at most 16 bytes
	UUID  string // also seeds the hashes of folders, so that the same inputs give the same bytes
	Time  int64  // seconds since 1970
	Size  size.Size
}

// growth is the size to which the reserved group descriptors let it grow; the kernel goes on with meta_bg, its other layout.
const growth = 2 * size.TiB

// features are given whole, so that no mke2fs.conf of the host decides. Linux 5.15 and later know them all.
var features = strings.Join([]string{"none", "has_journal", "ext_attr", "resize_inode", "dir_index", "filetype", "extent", "64bit", "flex_bg", "sparse_super",
	"large_file", "huge_file", "dir_nlink", "extra_isize", "metadata_csum", "metadata_csum_seed", "orphan_file"}, ",")

// Arguments are mke2fs's, to make the file system in a file that it makes itself, sparse.
func (e Ext4) Arguments(file string) []string {
	// The journal can't grow with the file system later: a quarter of it at first, as much as serves hundreds of GiB if there is room.
	journal := max(4, min(64, e.Size/4/size.MiB))
	return []string{"-q", "-F", "-O", features, "-b", "4096", "-I", "256", "-i", "16384",
		"-m", "1", // left for root, so that the agent can still write its journal when mongod has filled the rest
		"-J", fmt.Sprintf("size=%d", journal), "-U", e.UUID, "-L", e.Label,
		"-E", fmt.Sprintf("hash_seed=%s,root_owner=0:0,resize=%d,lazy_itable_init=0,lazy_journal_init=0,nodiscard", e.UUID, growth/4096),
		file, fmt.Sprintf("%dk", e.Size/size.KiB)}
}

// Environment is mke2fs's.
func (e Ext4) Environment() []string {
	return []string{"MKE2FS_CONFIG=/dev/null", fmt.Sprintf("E2FSPROGS_FAKE_TIME=%d", e.Time), "TZ=UTC"}
}

// Piece is a part of a file system, in bytes from its start.
type Piece struct{ Start, Size int64 }

// Ext4Used gives the pieces of a fresh ext4 that are in use, by its block bitmaps: what must reach a medium that may hold anything before. The holes
// of the file don't tell: mke2fs leaves the journal and the inode tables, which must be zero, as allocated holes, and those turn into data once read.
func Ext4Used(r io.ReaderAt) ([]Piece, error) {
	sb := make([]byte, 1024)
	if _, err := r.ReadAt(sb, 1024); err != nil {
		return nil, fmt.Errorf("read superblock of ext4: %w", err)
	}
	le := binary.LittleEndian
	if le.Uint16(sb[0x38:]) != 0xef53 || le.Uint32(sb[0x18:]) != 2 || le.Uint16(sb[0xfe:]) != 64 || le.Uint32(sb[0x20:]) != 32768 {
		return nil, errors.New("read superblock of ext4: not ext4 with blocks of 4096 bytes, 32768 in a group, and descriptors of 64")
	}
	const block, perGroup = 4096, 32768
	blocks := int64(le.Uint32(sb[0x150:]))<<32 | int64(le.Uint32(sb[4:]))
	groups := (blocks + perGroup - 1) / perGroup
	descriptors := make([]byte, groups*64)
	if _, err := r.ReadAt(descriptors, block); err != nil {
		return nil, fmt.Errorf("read group descriptors of ext4: %w", err)
	}
	head := 1 + (groups*64+block-1)/block + int64(le.Uint16(sb[0xce:])) // superblock, descriptors, those reserved to grow
	var used []Piece
	bitmap := make([]byte, block)
	for g := range groups {
		d := descriptors[g*64:]
		clear(bitmap)
		if uninit := le.Uint16(d[0x12:])&2 != 0; uninit && backup(g) {
			for i := range head {
				bitmap[i/8] |= 1 << (i % 8)
			}
		} else if !uninit {
			if _, err := r.ReadAt(bitmap, (int64(le.Uint32(d[0x20:]))<<32|int64(le.Uint32(d)))*block); err != nil {
				return nil, fmt.Errorf("read block bitmap %d of ext4: %w", g, err)
			}
		}
		for i := range min(perGroup, blocks-g*perGroup) {
			if bitmap[i/8]>>(i%8)&1 == 0 {
				continue
			}
			at := (g*perGroup + i) * block
			if n := len(used); n > 0 && used[n-1].Start+used[n-1].Size == at {
				used[n-1].Size += block
			} else {
				used = append(used, Piece{at, block})
			}
		}
	}
	return used, nil
}

// backup says whether a group has a copy of the superblock: 0, 1 and the powers of 3, 5 and 7 (sparse_super).
func backup(group int64) bool {
	for _, base := range []int64{3, 5, 7} {
		for power := int64(1); power <= group; power *= base {
			if power == group {
				return true
			}
		}
	}
	return group == 0
}
