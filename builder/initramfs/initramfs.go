// Package initramfs makes the node's root file system, which the kernel unpacks into RAM, in parts that are kept one by one:
//
//	busybox   the folders of /, the two device nodes that the kernel opens, and u-root's commands as one program: /bbin/bb, a link for each
//	modules   /modules: the kernel modules needed to reach the medium and the network, and their index
//	agent     /init, Grove's own PID 1 and agent
//	config    /etc/grove/image.json: what the agent is told about its image
//
// Each part is a cpio archive of its own and all but the last are compressed. The kernel reads archives one behind the other, so that a changed setting costs a
// few hundred bytes, a changed agent one go build, and the busybox is only made afresh with another Go or another u-root.
package initramfs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/u-root/u-root/pkg/cpio"

	"grove/builder/cache"
	"grove/builder/kernel"
	"grove/internal/spec"
	"grove/internal/step"
)

// Maker makes the parts of one image.
type Maker struct {
	Cache  *cache.Cache
	Source Source
	Image  string // that asks
	Arch   spec.Arch
}

// Modules gives the part with the kernel's modules.
func (m Maker) Modules(ctx context.Context, k kernel.Kernel) (string, step.Outcome, error) {
	return m.Cache.Get(ctx, cache.Part{
		Name:   "initramfs/modules",
		For:    m.Image,
		Inputs: []cache.Input{{Name: "kernel", Value: k.Release + " " + k.Key}, {Name: "layout", Value: layout}},
		Make: func(_ context.Context, to string) error {
			records, err := modules(k.Boot)
			if err != nil {
				return err
			}
			return pack(to, records)
		},
	})
}

func modules(dir string) ([]cpio.Record, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	records := []cpio.Record{cpio.Directory("modules", 0o755)}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		records = append(records, cpio.StaticFile("modules/"+e.Name(), string(data), 0o644))
	}
	return records, nil
}

// Agent gives the part with /init. The u-root names of what PID 1 does itself are links to it.
func (m Maker) Agent(ctx context.Context) (string, step.Outcome, error) {
	target, err := targetOf(m.Arch)
	if err != nil {
		return "", step.Outcome{}, err
	}
	sources, err := m.Source.hash("firstboot", "internal")
	if err != nil {
		return "", step.Outcome{}, err
	}
	return m.Cache.Get(ctx, cache.Part{
		Name:   "initramfs/agent",
		For:    m.Image,
		Inputs: append(sources, m.Source.inputs(target)...),
		Make: func(ctx context.Context, to string) error {
			program := to + ".program" // the cache removes it with the folder that holds both
			if err := m.Source.build(ctx, m.Source.Dir, target, program, "./firstboot"); err != nil {
				return fmt.Errorf("build the agent: %w", err)
			}
			data, err := os.ReadFile(program)
			if err != nil {
				return err
			}
			records := []cpio.Record{cpio.StaticFile("init", string(data), 0o755)}
			for _, link := range []string{"poweroff", "reboot", "halt", "shutdown"} {
				records = append(records, cpio.Symlink("bbin/"+link, "/init"))
			}
			return pack(to, records)
		},
	})
}

// Config gives the part with the agent's settings. It is not compressed: packing would save less than a sector.
func Config(n spec.Node) ([]byte, error) {
	text, err := json.MarshalIndent(n, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write the node's settings: %w", err)
	}
	return archive([]cpio.Record{cpio.StaticFile("etc/grove/image.json", string(text)+"\n", 0o644)})
}

// Concat writes parts one behind the other, each filled with zeros to a multiple of 4 bytes: the kernel takes an archive that is not compressed only at such a
// place (linux/init/initramfs.c, unpack_to_rootfs).
func Concat(to io.Writer, parts ...io.Reader) error {
	for _, part := range parts {
		n, err := io.Copy(to, part)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(to, strings.Repeat("\x00", int(-n&3))); err != nil {
			return err
		}
	}
	return nil
}
