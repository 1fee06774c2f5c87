package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"grove/builder/cache"
	"grove/internal/host"
	"grove/internal/spec"
)

// tool runs a reference tool; its verdict is its exit code.
func (b *bench) tool(ctx context.Context, name string, args ...string) (string, error) {
	r := b.program(ctx, host.Command{Path: name, Args: args})
	if r.code != 0 {
		return r.out, fmt.Errorf("%s %s: exit code %d: %s", name, strings.Join(args, " "), r.code, r.out)
	}
	return r.out, nil
}

// partition copies one out of the demo's image into a file.
func (b *bench) partition(ctx context.Context, role string) (string, error) {
	image, err := b.image(ctx)
	if err != nil {
		return "", err
	}
	shown := b.run(ctx, nil, "show", "solo", "--json")
	var img spec.Image
	if err := json.Unmarshal([]byte(shown.out), &img); err != nil {
		return "", fmt.Errorf("grove show --json: %w", err)
	}
	p := img.Partition(role)
	in, err := os.Open(image)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(b.folder("part"), role))
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(out, io.NewSectionReader(in, int64(p.Start), int64(p.Size))); err != nil {
		return "", err
	}
	return out.Name(), out.Close()
}

func judgeTable(ctx context.Context, b *bench) (string, error) {
	image, err := b.image(ctx)
	if err != nil {
		return "", err
	}
	out, err := b.tool(ctx, "sgdisk", "-v", image)
	if err == nil && !strings.Contains(out, "No problems found") {
		err = errors.New(out)
	}
	return lastLine(out), err
}

func judgeFAT(ctx context.Context, b *bench) (string, error) {
	file, err := b.partition(ctx, "boot")
	if err != nil {
		return "", err
	}
	out, err := b.tool(ctx, "fsck.vfat", "-n", file)
	return lastLine(out), err
}

func judgeExt4(ctx context.Context, b *bench) (string, error) {
	file, err := b.partition(ctx, "state")
	if err != nil {
		return "", err
	}
	out, err := b.tool(ctx, "e2fsck", "-fn", file)
	return lastLine(out), err
}

// judgeSquashfs compares unsquashfs's list with the one that the builder keeps of the tree that it laid.
func judgeSquashfs(ctx context.Context, b *bench) (string, error) {
	file, err := b.partition(ctx, "system-a")
	if err != nil {
		return "", err
	}
	out, err := b.tool(ctx, "unsquashfs", "-l", "-d", "", file)
	if err != nil {
		return "", err
	}
	var have []string
	for _, line := range strings.Split(out, "\n") {
		if p := strings.TrimPrefix(line, "/"); strings.HasPrefix(line, "/") && p != "" {
			have = append(have, p)
		}
	}
	want, err := b.listed()
	if err != nil {
		return "", err
	}
	sort.Strings(have)
	if h, w := strings.Join(have, "\n"), strings.Join(want, "\n"); h != w {
		return "", fmt.Errorf("%d files in the squashfs, %d in the tree: %s", len(have), len(want), difference(have, want))
	}
	return fmt.Sprintf("%d entries", len(have)), nil
}

// listed is the tree's list, in the manifest's system.files.
func (b *bench) listed() ([]string, error) {
	data, err := os.ReadFile(strings.TrimSuffix(b.solo, ".img") + ".manifest.json")
	if err != nil {
		return nil, err
	}
	var m struct{ System []struct{ Path string } }
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, err
	}
	var list []string
	for _, f := range m.System {
		list = append(list, strings.Trim(f.Path, "/"))
	}
	if len(list) == 0 {
		return nil, errors.New("the manifest lists no files of the system")
	}
	sort.Strings(list)
	return list, nil
}

func difference(have, want []string) string {
	in := map[string]int{}
	for _, h := range have {
		in[h]++
	}
	for _, w := range want {
		in[w] -= 2
	}
	var odd []string
	for name, n := range in {
		if n != -1 {
			odd = append(odd, name)
		}
	}
	sort.Strings(odd)
	return strings.Join(odd[:min(len(odd), 10)], ", ")
}

// judgeCpio takes the initramfs apart, which is the cache's parts one behind the other, and lets cpio read each.
func judgeCpio(ctx context.Context, b *bench) (string, error) {
	file, err := b.partition(ctx, "boot")
	if err != nil {
		return "", err
	}
	initrd := filepath.Join(b.folder("initrd"), "initrd")
	if _, err := b.tool(ctx, "mcopy", "-i", file, "::initrd", initrd); err != nil {
		return "", err
	}
	rest, err := os.ReadFile(initrd)
	if err != nil {
		return "", err
	}
	var names strings.Builder
	for _, part := range []string{"busybox", "modules", "agent"} {
		packed, err := prefix(part, rest)
		if err != nil {
			return "", err
		}
		r := b.program(ctx, host.Command{Path: "bash", Args: []string{"-o", "pipefail", "-c", "zstd -dcq | cpio -t --quiet"}, Stdin: bytes.NewReader(packed)})
		if r.code != 0 {
			return "", fmt.Errorf("%s: %s", part, r.out)
		}
		names.WriteString(r.out)
		rest = rest[(len(packed)+3)&^3:]
	}
	r := b.program(ctx, host.Command{Path: "cpio", Args: []string{"-t", "--quiet"}, Stdin: bytes.NewReader(rest)})
	if r.code != 0 {
		return "", fmt.Errorf("config: %s", r.out)
	}
	names.WriteString(r.out)
	for _, want := range []string{"init\n", "bbin/bb\n", "bbin/ls\n", "modules/index.json\n", "etc/grove/image.json\n"} {
		if !strings.Contains(names.String(), want) {
			return "", fmt.Errorf("no %q in the initramfs:\n%s", strings.TrimSpace(want), names.String())
		}
	}
	return fmt.Sprintf("4 archives, %d entries", strings.Count(names.String(), "\n")), nil
}

// prefix finds the part of the cache that data begins with.
func prefix(part string, data []byte) ([]byte, error) {
	dir, err := cache.Default()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "parts", "initramfs", part, "*"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if packed, err := os.ReadFile(f); err == nil && bytes.HasPrefix(data, packed) {
			return packed, nil
		}
	}
	return nil, fmt.Errorf("the initramfs does not go on with any %s of the cache", part)
}
