package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"grove/internal/size"
)

// LoadModule see Machine.
func (Real) LoadModule(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("load module %s: %w", file, err)
	}
	return nil
}

// SwapOn see Machine.
func (Real) SwapOn(path string, priority int) error {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	const prefer, mask = 0x8000, 0x7fff // SWAP_FLAG_PREFER and its mask, linux/swap.h
	if _, _, errno := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(name)), uintptr(prefer|priority&mask), 0); errno != 0 {
		return fmt.Errorf("swap on %s: %w", path, errno)
	}
	return nil
}

// Allocate see Machine.
func (Real) Allocate(file string, length size.Size) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Fallocate(int(f.Fd()), 0, 0, int64(length)), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("allocate %s for %s: %w", length, file, err)
	}
	return nil
}

// IsMountPoint see Machine.
func (Real) IsMountPoint(path string) (bool, error) {
	var here, above unix.Stat_t
	if err := errors.Join(unix.Lstat(path, &here), unix.Lstat(filepath.Dir(path), &above)); err != nil {
		return false, fmt.Errorf("look where %s lies: %w", path, err)
	}
	return here.Dev != above.Dev, nil
}

// mountFlags are the options that the kernel takes as bits and not as text: mount(2).
var mountFlags = map[string]uintptr{"noatime": unix.MS_NOATIME, "nodev": unix.MS_NODEV, "noexec": unix.MS_NOEXEC, "nosuid": unix.MS_NOSUID, "nodiratime": unix.MS_NODIRATIME,
	"relatime": unix.MS_RELATIME, "strictatime": unix.MS_STRICTATIME, "sync": unix.MS_SYNCHRONOUS, "dirsync": unix.MS_DIRSYNC, "lazytime": unix.MS_LAZYTIME, "defaults": 0, "auto": 0, "rw": 0}

// flags splits the options of a mount into bits and text. Without any no programs of root's run there, no devices open, and no access times are kept.
func (m Mount) flags() (flags uintptr, data string) {
	if m.Options == nil {
		flags = unix.MS_NOATIME | unix.MS_NODEV | unix.MS_NOSUID
	}
	var rest []string
	if m.Data != "" {
		rest = append(rest, m.Data)
	}
	for _, o := range m.Options {
		if bit, known := mountFlags[o]; known {
			flags |= bit
		} else {
			rest = append(rest, o)
		}
	}
	if m.ReadOnly {
		flags |= unix.MS_RDONLY
	}
	return flags, strings.Join(rest, ",")
}
