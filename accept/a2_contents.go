package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"grove/builder/lab/bay"
	"grove/internal/host"
	"grove/internal/size"
)

// crafted makes a disk of 512 MiB with a content, on this machine.
func crafted(kind string) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		file := filepath.Join(b.folder("content"), kind+".disk")
		f, err := os.Create(file)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if err := f.Truncate(int64(512 * size.MiB)); err != nil {
			return "", err
		}
		switch kind {
		case "ext4":
			return file, b.made(ctx, "mke2fs", "-q", "-F", "-t", "ext4", file)
		case "gpt":
			return file, b.made(ctx, "sgdisk", "-n", "1:0:+100M", "-c", "1:precious", file)
		case "ntfs":
			err = write(f, ntfs())
		case "luks":
			err = write(f, luks())
		case "mbr":
			err = write(f, map[int64][]byte{446: {0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 8, 0}, 510: {0x55, 0xaa}})
		case "random":
			err = write(f, map[int64][]byte{0: noise(512 * size.MiB)})
		case "middle":
			err = write(f, map[int64][]byte{int64(256*size.MiB) + 777: []byte("the only copy of something")})
		}
		return file, err
	}
}

func (b *bench) made(ctx context.Context, program string, args ...string) error {
	if r := b.program(ctx, host.Command{Path: program, Args: args}); r.code != 0 {
		return fmt.Errorf("%s: exit code %d: %s; run scripts/setup-host", program, r.code, r.out)
	}
	return nil
}

func write(f *os.File, pieces map[int64][]byte) (all error) {
	for at, piece := range pieces {
		_, err := f.WriteAt(piece, at)
		all = errors.Join(all, err)
	}
	return all
}

// noise is the same in every run, and none of it looks like a superblock.
func noise(n size.Size) []byte {
	bytes := make([]byte, n)
	source := rand.NewPCG(2, 4)
	for at := 0; at < len(bytes); at += 8 {
		binary.LittleEndian.PutUint64(bytes[at:], source.Uint64())
	}
	return bytes
}

// ntfs is a boot sector and the records that it points to: clusters of 8 sectors, the MFT in cluster 4, its mirror in 8 (Linux: fs/ntfs3/ntfs.h, struct NTFS_BOOT).
func ntfs() map[int64][]byte {
	boot := make([]byte, 512)
	copy(boot, "\xeb\x52\x90NTFS    ")
	binary.LittleEndian.PutUint16(boot[11:], 512)
	boot[13], boot[21], boot[64], boot[68] = 8, 0xf8, 0xf6, 1
	binary.LittleEndian.PutUint64(boot[40:], uint64(512*size.MiB/512-1))
	binary.LittleEndian.PutUint64(boot[48:], 4)
	binary.LittleEndian.PutUint64(boot[56:], 8)
	binary.LittleEndian.PutUint64(boot[72:], 0x1122334455667788)
	copy(boot[510:], "\x55\xaa")
	return map[int64][]byte{0: boot, 4 * 4096: []byte("FILE"), 4*4096 + 3*1024: []byte("FILE"), 8 * 4096: []byte("FILE")}
}

// luks is a header of version 1 (LUKS On-Disk Format Specification 1.2.3, 2.3).
func luks() map[int64][]byte {
	h := make([]byte, 592)
	copy(h, "LUKS\xba\xbe\x00\x01")
	copy(h[8:], "aes")
	copy(h[40:], "xts-plain64")
	copy(h[72:], "sha256")
	binary.BigEndian.PutUint32(h[104:], 4096) // payload, in sectors
	binary.BigEndian.PutUint32(h[108:], 64)   // key bytes
	copy(h[168:], "01234567-89ab-cdef-0123-456789abcdef")
	return map[int64][]byte{0: h}
}

// recorded gives a disk that was made in a node called other, by its own tools: its data (one disk, ext4), a member of its array, and what was typed there: xfs, an array of
// somebody else, a physical volume.
func recorded(kind string) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		b.recording.Lock()
		defer b.recording.Unlock()
		if b.records == "" {
			dir := b.folder("recorded")
			if err := errors.Join(b.recordArray(ctx, dir), b.recordData(ctx, dir)); err != nil {
				return "", fmt.Errorf("record disks of another node: %w", err)
			}
			b.records = dir
		}
		return filepath.Join(b.records, kind+".disk"), nil
	}
}

// recordArray boots a node with an array of two disks and types the rest.
func (b *bench) recordArray(ctx context.Context, dir string) error {
	l := layout{name: "recorded-raid10", yaml: "storage:\n  disks: [xvdb, xvdc, xvdd, xvde]\n  raid: {level: 10}\n  volumes: {data: 100%}\n  filesystem: xfs\n"}
	var disks []bay.Disk
	for _, name := range []string{"member", "b", "c", "d", "xfs", "alien", "pv"} {
		disks = append(disks, bay.Disk{Name: name, Size: 512 * size.MiB})
	}
	return b.record(ctx, dir, l, disks, []string{"member", "xfs", "alien", "pv"},
		"mkfs.xfs -q /dev/vdf", "mdadm --create /dev/md/alien --run --level=10 --raid-devices=2 --metadata=1.2 /dev/vdg missing", "lvm pvcreate /dev/vdh", "mdadm --stop /dev/md/alien")
}

func (b *bench) recordData(ctx context.Context, dir string) error {
	return b.record(ctx, dir, alone("one", "xvdb"), []bay.Disk{{Name: "data", Size: 512 * size.MiB}}, []string{"data"})
}

func (b *bench) record(ctx context.Context, dir string, l layout, disks []bay.Disk, keep []string, commands ...string) error {
	r, err := b.rig(ctx, l, "other", disks)
	if err != nil {
		return err
	}
	defer r.close(ctx)
	if _, err := r.ready(ctx); err != nil {
		return r.blame(err)
	}
	for _, c := range append(commands, "sync") {
		if _, err := r.sh(ctx, c); err != nil {
			return r.blame(err)
		}
	}
	if err := r.lab.PowerOff(ctx, r.node); err != nil {
		return r.blame(err)
	}
	for _, name := range keep {
		file, err := r.bay.File(name)
		if err != nil {
			return err
		}
		if err := b.made(ctx, "cp", "--sparse=always", file, filepath.Join(dir, strings.TrimSuffix(name, ".disk")+".disk")); err != nil {
			return err
		}
	}
	return nil
}
