// Package kernel takes from a Debian kernel package what an image needs of it: vmlinuz, the device trees of its board, and of some thousand modules the few dozen that were named, with all
// that they depend on, in two sets: the initramfs' and the system's.
//
// Debian's packages carry no modules.dep (depmod writes it when the package is installed), so the order comes from each module's own .modinfo section. Modules
// are kept uncompressed: initramfs and squashfs pack them better than one by one, and a node loads them without unpacking each. Their signature covers the
// uncompressed bytes and stays valid.
package kernel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"grove/builder/cache"
	"grove/builder/debian/deb"
	"grove/internal/step"
)

// layout is an input of the part: raise it when what write makes of the same package changes.
const layout = "2"

// Request says which modules of which package.
type Request struct {
	Image  string   // that asks
	Deb    string   // the package's file
	SHA256 string   // of that file
	Boot   []string // modules of the initramfs
	System []string // modules of the system, beyond those
	Trees  []string // device trees, without .dtb
}

// Kernel is what came of it.
type Kernel struct {
	Key     string // changes whenever any of the files may have changed
	Release string // as uname -r gives it
	Vmlinuz string // file
	Boot    string // folder that becomes /modules of the initramfs: NAME.ko and index.json
	System  string // folder that becomes /usr of the system: lib/modules/NAME.ko and lib/modules/index.json
	Trees   string // folder of the device trees, NAME.dtb
}

// Build gives the kernel's parts; the package is only unpacked when no earlier build asked for the same.
func Build(ctx context.Context, c *cache.Cache, r Request) (Kernel, step.Outcome, error) {
	dir, out, err := c.Get(ctx, cache.Part{
		Name: "kernel",
		For:  r.Image,
		Inputs: []cache.Input{
			{Name: "kernel package", Value: r.SHA256},
			{Name: "kernel.boot", Value: strings.Join(r.Boot, " ")},
			{Name: "kernel.system", Value: strings.Join(r.System, " ")},
			{Name: "kernel.device_trees", Value: strings.Join(r.Trees, " ")},
			{Name: "layout", Value: layout},
		},
		Make: r.build,
	})
	if err != nil {
		return Kernel{}, out, fmt.Errorf("take the kernel out of %s: %w", filepath.Base(r.Deb), err)
	}
	release, err := os.ReadFile(filepath.Join(dir, "release"))
	if err != nil {
		return Kernel{}, out, err
	}
	return Kernel{
		Key:     filepath.Base(dir),
		Release: string(release),
		Vmlinuz: filepath.Join(dir, "vmlinuz"),
		Boot:    filepath.Join(dir, "boot"),
		System:  filepath.Join(dir, "system"),
		Trees:   filepath.Join(dir, "dtbs"),
	}, out, nil
}

func (r Request) build(ctx context.Context, to string) error {
	unpacked := to + ".unpacked" // the cache removes it with the folder that holds both
	if err := os.Mkdir(unpacked, 0o755); err != nil {
		return err
	}
	if err := deb.Unpack(ctx, r.Deb, unpacked, wanted); err != nil {
		return err
	}
	t, err := open(unpacked)
	if err != nil {
		return err
	}
	p, err := pick(t, r.Boot, r.System)
	if err != nil {
		return err
	}
	if err := takeTrees(unpacked, t.release, r.Trees, filepath.Join(to, "dtbs")); err != nil {
		return err
	}
	return write(t, p, to)
}

// wanted leaves out documentation, System.map and the kernel's own configuration.
func wanted(path string) bool {
	return strings.HasPrefix(path, "boot/vmlinuz-") || strings.HasPrefix(path, "usr/lib/modules/") || strings.HasSuffix(path, ".dtb")
}
