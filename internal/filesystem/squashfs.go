package filesystem

import (
	"fmt"
	"strconv"

	"grove/internal/size"
)

// Squashfs is a file system to be made by mksquashfs 4.5 or later.
type Squashfs struct {
	Compression string    // zstd, lz4, xz
	Level       int       // of zstd, 1 to 22
	Block       size.Size // 4 KiB to 1 MiB, a power of two: larger packs better, smaller reads less
	Time        int64     // of all files and of itself, seconds since 1970
	Processors  int       // 0: all; the result is the same
}

// Arguments are mksquashfs's, to pack a folder into a file. All belongs to root, and nothing of the host gets in: times, owners, extended attributes.
func (s Squashfs) Arguments(folder, file string) []string {
	args := []string{folder, file, "-noappend", "-all-root", "-no-xattrs", "-no-progress", "-quiet",
		"-mkfs-time", strconv.FormatInt(s.Time, 10), "-all-time", strconv.FormatInt(s.Time, 10),
		"-b", strconv.FormatInt(int64(s.Block), 10), "-comp", s.Compression}
	if s.Compression == "zstd" {
		args = append(args, "-Xcompression-level", fmt.Sprint(s.Level))
	}
	if s.Processors > 0 {
		args = append(args, "-processors", fmt.Sprint(s.Processors))
	}
	return args
}
