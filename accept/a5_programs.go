package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"grove/internal/host"
)

// unpackInitramfs lays the files of all its parts under a folder.
func (b *bench) unpackInitramfs(ctx context.Context, boot, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	initrd := to + ".initrd"
	if _, err := b.tool(ctx, "mcopy", "-i", boot, "::initrd", initrd); err != nil {
		return err
	}
	rest, err := os.ReadFile(initrd)
	if err != nil {
		return err
	}
	for _, part := range []string{"busybox", "modules", "agent"} {
		packed, err := prefix(part, rest)
		if err != nil {
			return err
		}
		r := b.program(ctx, host.Command{Path: "bash", Args: []string{"-o", "pipefail", "-c", "zstd -dcq | cpio -idu --quiet --no-preserve-owner"}, Stdin: bytes.NewReader(packed), Dir: to})
		if r.code != 0 && !onlyDevices(r.out) {
			return fmt.Errorf("%s: %s", part, r.out)
		}
		rest = rest[(len(packed)+3)&^3:]
	}
	return nil
}

// onlyDevices tells whether cpio has only failed to make what needs root.
func onlyDevices(out string) bool {
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if !strings.Contains(line, "dev/") {
			return false
		}
	}
	return true
}

var armhfELF = regexp.MustCompile(`^ELF 32-bit LSB (pie executable|executable|shared object|relocatable), ARM, EABI5 version 1 \((SYSV|GNU/Linux)\)`)

// judgeELF lets file look at every one, compressed modules unpacked.
func (b *bench) judgeELF(ctx context.Context, dir string) (string, error) {
	var packed, elfs []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".ko.xz") {
			packed = append(packed, path)
		}
		return err
	})
	if err == nil && len(packed) > 0 {
		_, err = b.tool(ctx, "xz", append([]string{"-d"}, packed...)...)
	}
	if err != nil {
		return "", err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		magic := make([]byte, 4)
		if n, _ := io.ReadFull(f, magic); n == 4 && string(magic) == "\x7fELF" {
			elfs = append(elfs, path)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	text, err := b.tool(ctx, "file", append([]string{"-b"}, elfs...)...)
	if err != nil {
		return "", err
	}
	kinds := map[string]int{}
	for n, line := range strings.Split(strings.TrimSpace(text), "\n") {
		found := armhfELF.FindStringSubmatch(line)
		if found == nil {
			return "", fmt.Errorf("%s is %s", elfs[n], line)
		}
		kinds[found[1]]++
	}
	if kinds["relocatable"] < 30 || kinds["shared object"] < 5 || kinds["executable"] < 2 {
		return "", fmt.Errorf("too few are seen: %v", kinds)
	}
	return fmt.Sprintf("file says 32-bit ARM of %d: %d modules, %d libraries, %d programs", len(elfs), kinds["relocatable"], kinds["shared object"], kinds["executable"]+kinds["pie executable"]), nil
}
