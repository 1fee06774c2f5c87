package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"grove/firstboot/mkfs"
	"grove/firstboot/plan/act"
	"grove/internal/host"
	"grove/internal/size"
)

func (h Hands) swap(ctx context.Context, a act.Act) error {
	switch a.Kind {
	case act.MakeTable:
		return h.table(ctx, a)
	case act.MakeSwap:
		return h.run(ctx, mkfs.Command(a))
	case act.MakeSwapfile:
		return h.swapfile(ctx, a)
	case act.MakeZram:
		return h.zram(ctx, a)
	case act.SwapOn:
		return h.Host.SwapOn(h.path(a.Dev), a.Priority)
	}
	return fmt.Errorf("BUG: nobody does %q", a.Kind)
}

// table writes one sector, whole or not at all, and has the kernel read it.
func (h Hands) table(ctx context.Context, a act.Act) error {
	sector, err := mbr(a.UUID, a.Size)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(h.path(a.Dev), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(sector, 0)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return h.run(ctx, host.Command{Path: "/usr/sbin/blockdev", Args: []string{"--rereadpt", h.path(a.Dev)}})
}

// mbr is a partition table with one partition of type 82, from 4 MiB (the erase block of most flash) to the last whole MiB.
//
//	440  4   disk identifier
//	446  16  entry: not bootable, CHS of beyond 8 GB, type, CHS, first sector, sectors
//	510  2   55 AA
func mbr(id string, disk size.Size) ([]byte, error) {
	const start, sector, linuxSwap = 4 * size.MiB, 512, 0x82
	number, err := strconv.ParseUint(id, 16, 32)
	length := (disk - start) / size.MiB * size.MiB
	if err != nil || length < size.MiB || length/sector > 1<<32-1 {
		return nil, fmt.Errorf("make a partition table for %s with the identifier %q: %w", disk, id, errors.Join(err, errors.New("want 5MiB to 2TiB")))
	}
	b := make([]byte, sector)
	binary.LittleEndian.PutUint32(b[440:], uint32(number))
	e := b[446:]
	copy(e, []byte{0, 0xfe, 0xff, 0xff, linuxSwap, 0xfe, 0xff, 0xff})
	binary.LittleEndian.PutUint32(e[8:], uint32(start/sector))
	binary.LittleEndian.PutUint32(e[12:], uint32(length/sector))
	b[510], b[511] = 0x55, 0xaa
	return b, nil
}

// swapfile is all there under its name, or not at all.
func (h Hands) swapfile(ctx context.Context, a act.Act) error {
	file, made := h.path(a.Dev), a
	made.Dev = file + ".new"
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := h.Host.Allocate(made.Dev, a.Size); err != nil {
		return errors.Join(err, os.Remove(made.Dev)) // it may have taken all the room that is left
	}
	if err := h.run(ctx, mkfs.Command(made)); err != nil {
		return err
	}
	f, err := os.OpenFile(made.Dev, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(made.Dev, file)
}

// Swapfile is the size of a swap file, 0 when there is none.
func Swapfile(file string) size.Size {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return size.Size(info.Size())
}

// zram gives the device its size, which it takes but once (Documentation/admin-guide/blockdev/zram.rst).
func (h Hands) zram(ctx context.Context, a act.Act) error {
	if err := h.Modules("zram"); err != nil {
		return err
	}
	file := h.Root + "/sys/block/" + filepath.Base(a.Dev) + "/disksize"
	now, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if want := fmt.Sprint(int64(a.Size)); strings.TrimSpace(string(now)) != want {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			return err
		}
	}
	return h.run(ctx, mkfs.Command(a))
}
