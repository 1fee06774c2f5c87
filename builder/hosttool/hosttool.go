// Package hosttool runs mksquashfs, mke2fs and grub-mkimage of the image's own Debian suite, whatever the machine has: the programs come out of Debian
// packages of this machine's architecture, are extracted once into the cache and run through their own loader with their own libraries.
//
// So their versions are pinned by the build like everything else, and nothing has to be installed. Limits: the machine is one that Debian has packages
// for (amd64, arm64, armhf), with Linux; what a package would set up when installed, or looks for under /usr, is not there.
package hosttool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"grove/builder/cache"
	"grove/builder/debian"
	"grove/builder/debian/deb"
	"grove/internal/host"
	"grove/internal/spec"
	"grove/internal/step"
)

// form is an input of the part: raise it when the same packages make another tree.
const form = "1"

// Tools is the extracted tree.
type Tools struct {
	root     string
	platform platform
	packages []debian.Package
}

// platform is where Debian puts libraries and the loader of an architecture.
type platform struct{ triplet, loader string }

var platforms = map[spec.Arch]platform{
	spec.AMD64: {"x86_64-linux-gnu", "ld-linux-x86-64.so.2"},
	spec.ARM64: {"aarch64-linux-gnu", "ld-linux-aarch64.so.1"},
	spec.ARMHF: {"arm-linux-gnueabihf", "ld-linux-armhf.so.3"},
}

// Arch is this machine's architecture by Debian's name, "" when Debian has none for it.
func Arch() spec.Arch {
	switch runtime.GOARCH {
	case "amd64":
		return spec.AMD64
	case "arm64":
		return spec.ARM64
	case "arm":
		return spec.ARMHF
	}
	return ""
}

// Open extracts the packages, or finds them extracted: those that Packages chose, or those of a manifest.
func Open(ctx context.Context, client debian.Client, packages []debian.Package, count step.Counter) (*Tools, step.Outcome, error) {
	p, known := platforms[Arch()]
	if !known {
		return nil, step.Outcome{}, fmt.Errorf("host tools: Debian has none for this machine (%s)", runtime.GOARCH)
	}
	inputs := []cache.Input{{Name: "form", Value: form}}
	for _, one := range packages {
		inputs = append(inputs, cache.Input{Name: one.Name + ":" + one.Arch, Value: one.SHA256})
	}
	root, out, err := client.Fetcher.Cache.Get(ctx, cache.Part{
		Name: "hosttools", For: string(client.Origin.Arch), Inputs: inputs,
		Make: func(ctx context.Context, to string) error { return extract(ctx, client, packages, p, to, count) },
	})
	if err != nil {
		return nil, out, fmt.Errorf("host tools: %w", err)
	}
	return &Tools{root: root, platform: p, packages: packages}, out, nil
}

func extract(ctx context.Context, client debian.Client, packages []debian.Package, p platform, to string, count step.Counter) error {
	files, err := client.Fetch(ctx, packages, count)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	group, within := errgroup.WithContext(ctx) // no two of them hold the same file
	group.SetLimit(runtime.NumCPU())
	for _, file := range files {
		group.Go(func() error { return deb.Unpack(within, file, to, p.wants) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(to, p.library(), p.loader)); err != nil {
		return fmt.Errorf("the packages hold no loader: %w", err)
	}
	return nil
}

func (p platform) library() string { return "usr/lib/" + p.triplet }

// wants leaves out what no program needs to run: documentation, translations, character sets, GRUB's prebuilt images.
func (p platform) wants(path string) bool {
	switch {
	case strings.HasPrefix(path, p.library()+"/gconv/"), strings.HasPrefix(path, "usr/lib/grub/") && strings.Contains(path, "/monolithic/"):
		return false
	case path == "etc/mke2fs.conf":
		return true
	}
	folders := []string{"usr/bin/", "usr/sbin/", "usr/lib/grub/", p.library() + "/"}
	return slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(path, folder) })
}

// Command is a program of the tools, with a clean environment: no setting of the person who builds reaches it.
func (t *Tools) Command(name string, args ...string) (host.Command, error) {
	for _, folder := range []string{"usr/bin", "usr/sbin"} {
		program := t.Path(filepath.Join(folder, name))
		if _, err := os.Stat(program); err != nil {
			continue
		}
		libraries := t.Path(t.platform.library())
		return host.Command{
			Path: filepath.Join(libraries, t.platform.loader),
			Args: append([]string{"--inhibit-cache", "--library-path", libraries, program}, args...),
			Env: []string{
				"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC",
				"MKE2FS_CONFIG=" + t.Path("etc/mke2fs.conf"), // mke2fs would look in /etc
			},
			Clean: true,
		}, nil
	}
	return host.Command{}, fmt.Errorf("host tools: none of their packages has a program %s", name)
}

// Path is where a file or folder of the packages lies, such as usr/lib/grub/i386-pc. It need not exist.
func (t *Tools) Path(rel string) string { return filepath.Join(t.root, rel) }

// Packages are those that the tools came out of.
func (t *Tools) Packages() []debian.Package { return t.packages }
