package host

import (
	"fmt"

	"golang.org/x/sys/unix"

	"grove/internal/size"
)

// Usages tells how full file systems are.
type Usages interface {
	// Usage of the file system that a path lies on.
	Usage(path string) (Usage, error)
}

// Usage is of a file system. One without a fixed number of files has Files 0.
type Usage struct {
	Size, Free, Available size.Size // available is what is left for others than root
	Files, FilesFree      int64
}

// Usage see Usages.
func (Real) Usage(path string) (Usage, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return Usage{}, fmt.Errorf("usage of %s: %w", path, err)
	}
	blocks := func(n uint64) size.Size { return size.Size(int64(n) * int64(s.Bsize)) }
	return Usage{Size: blocks(s.Blocks), Free: blocks(s.Bfree), Available: blocks(s.Bavail), Files: int64(s.Files), FilesFree: int64(s.Ffree)}, nil
}
