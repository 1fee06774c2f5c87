package payload

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"grove/builder/cache"
	"grove/builder/elfcheck"
	"grove/internal/host"
	"grove/internal/spec"
)

// The packages of these tests hold programs and libraries of the machine that runs them, a Debian one, so that what is built of them can be started.

// debian is a set of packages: files by path in a merged tree, each with its place on this machine, `-> target` for a link, or its text behind a `#`.
type debian struct {
	packages map[string]map[string]string
	mu       sync.Mutex
	opened   []string
}

func libraryDir() string { return "usr/lib/" + elfcheck.Multiarch(spec.Arch(runtime.GOARCH)) }

// newDebian has the package mount, each library that its programs and tar need as a package of its own, and one that nobody needs.
func newDebian(t *testing.T) *debian {
	t.Helper()
	d := &debian{packages: map[string]map[string]string{"mount": {}, "unneeded": {libraryDir() + "/libunneeded.so.1": "#no library"}}}
	mount := d.packages["mount"]
	for _, name := range []string{"bin/mount", "bin/umount", "sbin/swapon", "sbin/swapoff", "sbin/losetup"} {
		mount["usr/"+name] = "/usr/" + name
	}
	mount["usr/sbin/swap"] = "-> swapon"
	mount["usr/bin/script"] = "##!/bin/sh"
	tree := elfcheck.Tree{Objects: map[string]elfcheck.Object{}, Links: map[string]string{}}
	add := func(name string) string {
		place, err := filepath.EvalSymlinks("/usr/" + name)
		if err == nil {
			err = tree.Add(name, place)
		}
		if err != nil {
			t.Fatalf("take %s of this machine, a Debian one: %v", name, err)
		}
		return place
	}
	for name := range mount {
		if !strings.HasPrefix(mount[name], "-") && !strings.HasPrefix(mount[name], "#") {
			add(strings.TrimPrefix(name, "usr/"))
		}
	}
	add("bin/tar")
	arch := spec.Arch(runtime.GOARCH)
	for missing := elfcheck.Missing(tree, arch); len(missing) > 0; missing = elfcheck.Missing(tree, arch) {
		for _, soname := range missing {
			name := elfcheck.Packages(soname)[0]
			if d.packages[name] == nil {
				d.packages[name] = map[string]string{"usr/share/doc/" + name + "/copyright": "#free"}
			}
			d.packages[name][libraryDir()+"/"+soname] = add(strings.TrimPrefix(libraryDir(), "usr/") + "/" + soname)
		}
	}
	interp := elfcheck.Follow("", tree.Objects["bin/tar"].Interp)
	d.packages["libc6"]["usr/"+interp] = "/usr/" + interp
	return d
}

// unpack does what package deb does.
func (d *debian) unpack(ctx context.Context, deb, into string, want func(string) bool) error {
	d.mu.Lock()
	d.opened = append(d.opened, deb)
	d.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for file, from := range d.packages[deb] {
		if !want(file) {
			continue
		}
		to := filepath.Join(into, file)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := put(to, from); err != nil {
			return err
		}
	}
	return nil
}

func put(to, from string) error {
	if target, is := strings.CutPrefix(from, "-> "); is {
		return os.Symlink(target, to)
	}
	if text, is := strings.CutPrefix(from, "#"); is {
		return os.WriteFile(to, []byte(text), 0o644)
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Chmod(info.Mode()) // set-user-ID too
}

// tools is the machine's own mksquashfs.
type tools struct{}

func (tools) Command(name string, args ...string) (host.Command, error) {
	path := host.Real{}.Look(name)
	if path == "" {
		return host.Command{}, fmt.Errorf("%s is not on this machine; run scripts/setup-host", name)
	}
	return host.Command{Path: path, Args: args}, nil
}

// request asks for mount and a tar that stands for mongod.
func request(t *testing.T, d *debian) Request {
	t.Helper()
	dir := t.TempDir()
	mongod, docs, modules := filepath.Join(dir, "mongod"), filepath.Join(dir, "doc"), filepath.Join(dir, "modules")
	for _, folder := range []string{docs, filepath.Join(modules, "lib/modules")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for to, from := range map[string]string{mongod: "/usr/bin/tar", docs + "/LICENSE": "#SSPL", modules + "/lib/modules/index.json": "#{}"} {
		if err := put(to, from); err != nil {
			t.Fatal(err)
		}
	}
	r := Request{
		Image: spec.Image{Name: "demo", Time: 1735689600, Board: spec.Board{Arch: spec.Arch(runtime.GOARCH)}, Debian: spec.Debian{Suite: "trixie"},
			Packages: []string{"mount"}, System: spec.System{Compression: "zstd", Level: 1}},
		Mongod:  Mongod{File: mongod, Docs: docs, SHA256: "m"},
		Modules: Modules{Folder: modules, Key: "k"},
		Host:    host.Real{}, Tools: tools{}, Unpack: d.unpack,
	}
	for name := range d.packages {
		r.Packages = append(r.Packages, Package{Name: name, SHA256: "of " + name, File: name})
	}
	return r
}

func open(t *testing.T) *cache.Cache {
	t.Helper()
	c, err := cache.Open(filepath.Join(t.TempDir(), "cache"), host.Real{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
