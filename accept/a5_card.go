package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"grove/builder/cache"
	"grove/internal/host"
)

// nanoTwice builds the card again, and compares.
func nanoTwice(ctx context.Context, b *bench) (string, error) {
	card, err := b.nano(ctx)
	if err != nil {
		return "", err
	}
	recipe := strings.TrimSuffix(card, ".img") + ".yaml"
	fresh, second, third := b.folder("cache"), b.folder("second"), b.folder("third")
	if err := copyUBoot(fresh); err != nil {
		return "", err
	}
	cold := b.run(ctx, []string{"GROVE_CACHE=" + fresh}, "build", recipe, "-o", second)
	if cold.code != 0 {
		return "", errors.New(cold.out)
	}
	if err := os.RemoveAll(fresh); err != nil { // it is as large as all that the others share
		return "", err
	}
	locked := b.run(ctx, nil, "build", recipe, "-o", third, "--lock", strings.TrimSuffix(card, ".img")+".manifest.json", "--offline")
	if locked.code != 0 {
		return "", errors.New(locked.out)
	}
	warm := b.run(ctx, nil, "build", recipe, "-o", third)
	if err := warm.wants(0, "nothing changed"); err != nil {
		return "", err
	}
	var sums []string
	for _, dir := range []string{filepath.Dir(card), second, third} {
		s, err := sum(filepath.Join(dir, filepath.Base(card)))
		if err != nil {
			return "", err
		}
		sums = append(sums, s)
	}
	if sums[0] != sums[1] || sums[0] != sums[2] {
		return "", fmt.Errorf("have %s", strings.Join(sums, ", "))
	}
	used := b.program(ctx, host.Command{Path: "du", Args: []string{"-m", card}})
	info, err := os.Stat(card)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("3 × %s; from an empty cache %.1f s, with a full one %.1f s, nothing changed %.2f s; %d MiB, %s MiB of them data", sums[0], cold.took.Seconds(), locked.took.Seconds(),
		warm.took.Seconds(), info.Size()>>20, strings.Fields(used.out)[0]), nil
}

// copyUBoot puts the U-Boot of the machine's cache into another.
func copyUBoot(into string) error {
	kept, err := cache.Default()
	if err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(into, "uboot"), os.DirFS(filepath.Join(kept, "uboot")))
}

// table is an MBR as sfdisk reads it, in sectors.
type table struct {
	PartitionTable struct {
		Label, ID  string
		Partitions []struct {
			Start, Size int64
			Type        string
			Bootable    bool
		}
	}
}

// judgeNano asks tools that know nothing of Grove.
func judgeNano(ctx context.Context, b *bench) (string, error) {
	card, err := b.nano(ctx)
	if err != nil {
		return "", err
	}
	verdict, err := b.tool(ctx, "sfdisk", "--verify", card)
	if err != nil || !strings.Contains(verdict, "No errors detected") {
		return "", fmt.Errorf("sfdisk --verify: %s, %w", verdict, err)
	}
	text, err := b.tool(ctx, "sfdisk", "--json", card)
	if err != nil {
		return "", err
	}
	var t table
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return "", err
	}
	loader, err := judgeLoader(card, t)
	if err != nil {
		return "", err
	}
	dir := b.folder("card")
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o755); err != nil {
		return "", err
	}
	boot, system := filepath.Join(dir, "boot"), filepath.Join(dir, "system")
	for n, to := range []string{boot, system} {
		p := t.PartitionTable.Partitions[n]
		if err := cutOut(card, to, p.Start*512, p.Size*512); err != nil {
			return "", err
		}
	}
	if _, err := b.tool(ctx, "fsck.vfat", "-n", boot); err != nil {
		return "", err
	}
	trees, err := b.judgeTrees(ctx, boot, dir)
	if err != nil {
		return "", err
	}
	if _, err := b.tool(ctx, "unsquashfs", "-q", "-n", "-no-xattrs", "-d", filepath.Join(dir, "files", "usr"), system); err != nil {
		return "", err
	}
	if err := b.unpackInitramfs(ctx, boot, filepath.Join(dir, "files", "initramfs")); err != nil {
		return "", err
	}
	programs, err := b.judgeELF(ctx, filepath.Join(dir, "files"))
	return fmt.Sprintf("%s; dtc reads %s; %s", loader, trees, programs), err
}

func cutOut(from, to string, start, length int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(in, start, length))
	return errors.Join(err, out.Close())
}

// judgeLoader adds the SPL up anew, from the description of its header alone, and looks that nothing lies on anything.
func judgeLoader(card string, t table) (string, error) {
	parts := t.PartitionTable.Partitions
	if t.PartitionTable.Label != "dos" || len(parts) != 4 || !parts[0].Bootable || parts[0].Start*512 != 4<<20 {
		return "", fmt.Errorf("the table is %+v; want a DOS label, four partitions, the first active and at 4 MiB", t)
	}
	for n := 1; n < len(parts); n++ {
		if parts[n].Start < parts[n-1].Start+parts[n-1].Size {
			return "", fmt.Errorf("partition %d begins at %d, within the one before: %+v", n+1, parts[n].Start, parts)
		}
	}
	f, err := os.Open(card)
	if err != nil {
		return "", err
	}
	defer f.Close()
	gap := make([]byte, parts[0].Start*512)
	if _, err := io.ReadFull(f, gap); err != nil {
		return "", err
	}
	spl := gap[8192:]
	length := binary.LittleEndian.Uint32(spl[16:])
	if string(spl[4:12]) != "eGON.BT0" || length%4 != 0 || int(length) > 32<<10 {
		return "", fmt.Errorf("no SPL at 8192: %q, %d bytes", spl[4:12], length)
	}
	var words [1]uint32
	sum := uint32(0x5f0a6c39)
	for at := 0; at < int(length); at += 4 {
		if at == 12 {
			continue
		}
		words[0] = binary.LittleEndian.Uint32(spl[at:])
		sum += words[0]
	}
	if have := binary.LittleEndian.Uint32(spl[12:]); have != sum {
		return "", fmt.Errorf("the SPL's checksum is %08x, its words add up to %08x", have, sum)
	}
	about, err := cache.Default()
	if err != nil {
		return "", err
	}
	whole, err := os.ReadFile(filepath.Join(about, "uboot", defconfig, "u-boot-sunxi-with-spl.bin"))
	if err != nil {
		return "", err
	}
	if !bytes.HasPrefix(spl, whole) || len(bytes.TrimRight(spl[len(whole):], "\x00")) != 0 {
		return "", errors.New("what lies from 8192 on is not U-Boot and then nothing")
	}
	return fmt.Sprintf("SPL of %d bytes at 8192, checksum %08x, U-Boot ends at %d, %d before the first partition", length, sum, 8192+len(whole), len(spl)-len(whole)), nil
}

// judgeTrees decompiles each device tree.
func (b *bench) judgeTrees(ctx context.Context, boot, dir string) (string, error) {
	if _, err := b.tool(ctx, "mcopy", "-s", "-i", boot, "::dtbs", dir); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(dir, "dtbs", "*.dtb"))
	if err != nil || len(files) != 2 {
		return "", fmt.Errorf("the device trees are %v, %w", files, err)
	}
	var models []string
	for _, file := range files {
		text, err := b.tool(ctx, "dtc", "-q", "-I", "dtb", "-O", "dts", file)
		if err != nil {
			return "", err
		}
		found := regexp.MustCompile(`\n\tmodel = "(.*)";`).FindStringSubmatch(text)
		if found == nil {
			return "", fmt.Errorf("%s names no model", file)
		}
		models = append(models, found[1])
	}
	if text := strings.Join(models, ", "); strings.Contains(text, "pcDuino3 Nano") {
		return text, nil
	}
	return "", fmt.Errorf("no device tree is the Nano's: %v", models)
}

func inspectNano(ctx context.Context, b *bench) (string, error) {
	card, err := b.nano(ctx)
	if err != nil {
		return "", err
	}
	r := b.run(ctx, nil, "inspect", card, "--verify")
	return strings.SplitN(r.out, "\n", 2)[0], r.wants(0, "boots by Allwinner: U-Boot for sun7i-a20-pcduino3-nano, SPL of 24 KiB at 8KiB", "FAT32 GROVE-BOOT", "extlinux/extlinux.conf",
		"dtbs/sun7i-a20-pcduino3-nano.dtb", "squashfs", "ext4 state", ", verified")
}
