package assemble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"grove/builder/bootloader"
	"grove/builder/uboot"
	"grove/internal/filesystem"
	"grove/internal/host"
	"grove/internal/partition"
	"grove/internal/size"
	"grove/internal/spec"
)

// place is a part of the medium and how it is filled. Places are filled in the order in which they lie.
type place struct {
	name  string
	end   size.Size // all before it is complete when write returns
	bytes size.Size // at most this much data
	write func(ctx context.Context, w *writer) error
}

// fit says how each place is filled, and finds what does not fit before anything is written.
func (p Parts) fit() ([]place, error) {
	table := layout(p.Image)
	if err := table.Check(); err != nil {
		return nil, err
	}
	first, err := p.first(table)
	places, faults := []place{first}, []error{err}
	for _, part := range p.Image.Partitions {
		place, err := p.fill(part)
		if err != nil {
			faults = append(faults, err)
		}
		places = append(places, place)
	}
	return places, errors.Join(faults...)
}

// first is what lies before the partitions: boot code and table, and U-Boot on a board that has it.
func (p Parts) first(table partition.Table) (place, error) {
	end, have := p.Image.Partitions[0].Start, size.Size(len(p.Loader.UBoot))
	var fault error
	if uboot.Place+have > end {
		fault = fmt.Errorf("U-Boot of %s, from %s on, reaches into %s, which starts at %s", have.Short(), uboot.Place, p.Image.Partitions[0].Role, end)
	}
	return place{"boot code and partition table", end, end, func(_ context.Context, w *writer) error {
		if err := partition.Write(w, table); err != nil {
			return err
		}
		if _, err := w.WriteAt(p.Loader.Code, 0); err != nil {
			return err
		}
		_, err := w.WriteAt(p.Loader.UBoot, int64(uboot.Place))
		return err
	}}, fault
}

// layout is the partition table of an image.
func layout(i spec.Image) partition.Table {
	t := partition.Table{Disk: i.DiskID(), Size: i.Disk()}
	for n, p := range i.Partitions {
		one := partition.Partition{Number: n + 1, Name: p.Label, Type: p.Type, GUID: p.UUID, Start: p.Start, Size: p.Size}
		if t.MBR() && p.Role == "boot" {
			one.Attributes = partition.Active
		}
		t.Partitions = append(t.Partitions, one)
	}
	return t
}

// fill says how a partition is filled.
func (p Parts) fill(part spec.Partition) (place, error) {
	switch part.Role {
	case "bios-boot":
		return fillBytes(part, p.Loader.Core)
	case "boot":
		return p.fillBoot(part)
	case "system-a":
		return fillFile(part, p.System)
	case "state":
		return fillState(part, p.State)
	}
	// Nothing yet: but a medium that held something before must not show it here.
	return fillBytes(part, make([]byte, min(64*size.KiB, part.Size)))
}

// fits compares what a partition is to hold with what it can, to the byte where rounding would hide the difference.
func fits(part spec.Partition, have, room size.Size) error {
	if have <= room {
		return nil
	}
	said, holds := have.Short(), room.Short()
	if said == holds {
		said, holds = have.String(), room.String()
	}
	return fmt.Errorf("%s is too small: have %s to put there, it holds %s", part.Role, said, holds)
}

func fillBytes(part spec.Partition, data []byte) (place, error) {
	return place{part.Role, part.Start + part.Size, size.Size(len(data)), func(_ context.Context, w *writer) error {
		_, err := w.WriteAt(data, int64(part.Start))
		return err
	}}, fits(part, size.Size(len(data)), part.Size)
}

func (p Parts) fillBoot(part spec.Partition) (place, error) {
	var id uint32
	if _, err := fmt.Sscanf(part.FS, "%8x", &id); err != nil {
		return place{}, fmt.Errorf("boot: volume id: want 8 hex digits, have %q", part.FS)
	}
	fat := filesystem.FAT{Label: part.Label, ID: id, Time: p.Image.Time, Start: part.Start, Size: part.Size}
	files := append(bootloader.Files(p.Image, p.Loader), p.Boot...)
	used, room, err := fat.Used(files)
	if err != nil {
		return place{}, fmt.Errorf("boot: %w", err)
	}
	return place{part.Role, part.Start + part.Size, used + 4*size.MiB, func(ctx context.Context, w *writer) error {
		return fat.Write(ctx, w, files, nil)
	}}, fits(part, used, room)
}

func fillFile(part spec.Partition, path string) (place, error) {
	info, err := os.Stat(path)
	if err != nil {
		return place{}, fmt.Errorf("%s: %w", part.Role, err)
	}
	bytes := size.Size(info.Size())
	return place{part.Role, part.Start + part.Size, bytes, func(ctx context.Context, w *writer) error {
		return w.copyFile(ctx, path, int64(part.Start), int64(bytes))
	}}, fits(part, bytes, part.Size)
}

// fillState copies what is in use of the ext4.
func fillState(part spec.Partition, path string) (place, error) {
	f, err := os.Open(path)
	if err != nil {
		return place{}, fmt.Errorf("%s: %w", part.Role, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return place{}, fmt.Errorf("%s: %w", part.Role, err)
	}
	if have := size.Size(info.Size()); have != part.Size {
		return place{}, fmt.Errorf("%s: have an ext4 of %s, want %s", part.Role, have, part.Size)
	}
	used, err := filesystem.Ext4Used(f)
	if err != nil {
		return place{}, fmt.Errorf("%s: %w", part.Role, err)
	}
	var bytes size.Size
	for _, u := range used {
		bytes += size.Size(u.Size)
	}
	return place{part.Role, part.Start + part.Size, bytes, func(ctx context.Context, w *writer) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		for _, u := range used {
			if err := w.copySparse(ctx, io.NewSectionReader(f, u.Start, u.Size), int64(part.Start)+u.Start); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

// room makes the output folder and refuses when the data would not go in.
func room(h host.Host, folder string, places []place, compress bool) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("output folder: %w", err)
	}
	need := size.MiB // for what lies beside
	for _, p := range places {
		need += p.bytes
	}
	if compress {
		need *= 2 // at most
	}
	free, err := h.Free(folder)
	if err != nil {
		return fmt.Errorf("output folder: %w", err)
	}
	if size.Size(free) < need {
		return fmt.Errorf("output folder %s: %s needed, %s free", folder, need.Short(), size.Size(free).Short())
	}
	return nil
}
