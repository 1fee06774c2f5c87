// Package payload makes the system: the squashfs that a node mounts at /usr, with mongod, the disk tools, exactly the libraries that these need, and kernel modules.
//
// Programs are taken by name out of the house's own packages, whole out of those that a recipe adds; libraries by need, found by the loader's rules; and the
// copyright of every package that gives something. There is no shell, perl or python in it, so scripts do not run. Before it is packed the tree must pass package
// elfcheck. Nothing has to be put in /etc: mke2fs, lvm, mdadm and mkfs.xfs have their defaults built in.
package payload

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"grove/builder/cache"
	"grove/internal/host"
	"grove/internal/spec"
	"grove/internal/step"
)

// layout is an input of the part: raise it when the same inputs make another tree.
const layout = "1"

// Request is all that goes into a system.
type Request struct {
	Image    spec.Image
	Packages []Package // the closure of the image's packages; most of it is never opened
	Mongod   Mongod
	Modules  Modules
	Host     host.Host
	Tools    Tools
	Packer   string // changes with the tools
	// Unpack lays the wanted files of a package under a folder that exists. Paths are those of a merged tree: usr/lib/…
	Unpack func(ctx context.Context, deb, into string, want func(path string) bool) error
	// Advise says what to do about a library that is missing. Without it, its package's name is guessed.
	Advise func(soname string) string
}

// Package is one Debian package at hand.
type Package struct{ Name, SHA256, File string }

// Mongod is the server's program, the folder of its licences, and the hash of what both came from.
type Mongod struct{ File, Docs, SHA256 string }

// Modules is a folder that is laid over the system's root (lib/modules/…), and a key that changes with its content.
type Modules struct{ Folder, Key string }

// Tools gives the pinned mksquashfs.
type Tools interface {
	Command(name string, args ...string) (host.Command, error)
}

// System is the result. Key changes whenever any byte may have changed.
type System struct {
	Key      string
	Squashfs string   // file
	Files    []File   // everything in it, by path
	Packages []string // names of those that gave something, sorted
}

// File is one entry of the tree; folders have a path that ends in a slash. Link is the target of a symbolic link.
type File struct {
	Path string `json:"path"`
	Mode uint32 `json:"mode"`
	Size int64  `json:"size,omitempty"`
	Link string `json:"link,omitempty"`
}

// Build gives the system, made afresh when anything that goes into it has changed. What cannot run in it comes back as diag.Findings.
func Build(ctx context.Context, c *cache.Cache, r Request, count step.Counter) (System, step.Outcome, error) {
	dir, out, err := c.Get(ctx, cache.Part{Name: "system", For: r.Image.Name, Inputs: inputs(r),
		Make: func(ctx context.Context, to string) error { return r.build(ctx, to, count) }})
	if err != nil {
		return System{}, out, err
	}
	s := System{Key: filepath.Base(dir), Squashfs: filepath.Join(dir, "system.squashfs")}
	data, err := os.ReadFile(filepath.Join(dir, "content.json"))
	if err != nil {
		return System{}, out, err
	}
	var has content
	if err := json.Unmarshal(data, &has); err != nil {
		return System{}, out, fmt.Errorf("read the system's list: %w", err)
	}
	s.Files, s.Packages = has.Files, has.Packages
	return s, out, nil
}

// content is what lies beside the squashfs in the cache.
type content struct {
	Packages []string `json:"packages"`
	Files    []File   `json:"files"`
}

func inputs(r Request) []cache.Input {
	all := []cache.Input{
		{Name: "mongod", Value: r.Mongod.SHA256},
		{Name: "kernel modules", Value: r.Modules.Key},
		{Name: "arch", Value: string(r.Image.Board.Arch)},
		{Name: "time", Value: fmt.Sprint(r.Image.Time)},
		{Name: "system.compression", Value: fmt.Sprintf("%s %d", r.Image.System.Compression, r.Image.System.Level)},
		{Name: "packages", Value: fmt.Sprint(r.Image.Packages)},
		{Name: "mksquashfs", Value: r.Packer},
		{Name: "layout", Value: layout},
	}
	for _, p := range r.Packages {
		all = append(all, cache.Input{Name: "package " + p.Name, Value: p.SHA256})
	}
	return all
}

// build makes the folder of the part. What it needs in between lies beside it and goes with the cache's temporary folder.
func (r Request) build(ctx context.Context, to string, count step.Counter) error {
	t, err := newTree(to + ".tree")
	if err != nil {
		return err
	}
	g := &gathering{request: r, tree: t, work: to + ".packages", packages: map[string]*opened{}}
	if err := g.run(ctx); err != nil {
		return err
	}
	if err := g.check().Err(); err != nil {
		return err
	}
	has := content{Packages: g.gave()}
	if has.Files, err = t.files(); err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	if err := r.pack(ctx, t.dir, filepath.Join(to, "system.squashfs"), has.Files, count); err != nil {
		return err
	}
	data, err := json.MarshalIndent(has, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "content.json"), data, 0o644)
}
