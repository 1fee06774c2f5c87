package build

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"

	"grove/builder/bootloader"
	"grove/builder/cache"
	"grove/builder/initramfs"
	"grove/builder/plan"
	"grove/internal/filesystem"
	"grove/internal/spec"
	"grove/internal/step"
)

// toolInputs are the packages of the host tools, which bear on all that they make.
func (j *job) toolInputs() []cache.Input {
	var in []cache.Input
	for _, p := range j.tools.Packages() {
		in = append(in, cache.Input{Name: "tool " + p.Name, Value: p.SHA256})
	}
	return in
}

func (j *job) makeLoader(ctx context.Context) (string, step.Outcome, error) {
	if j.Image.Board.OnSunxi() {
		return j.takeUBoot(ctx)
	}
	return j.Cache.Get(ctx, cache.Part{Name: "loader", For: j.Image.Name,
		Inputs: append(j.toolInputs(), cache.Input{Name: "start", Value: bootloader.Embedded(j.Image)}, cache.Input{Name: "firmware", Value: fmt.Sprint(j.Image.Board.Firmware)}),
		Make:   func(ctx context.Context, to string) error { return bootloader.Make(ctx, j.Host, j.tools, j.Image, to) }})
}

func (j *job) makeState(ctx context.Context) (string, step.Outcome, error) {
	p := j.Image.Partition("state")
	fs := filesystem.Ext4{Label: p.Label, UUID: p.FS, Time: j.Image.Time, Size: p.Size}
	return j.Cache.Get(ctx, cache.Part{Name: "state", For: j.Image.Name, Inputs: append(j.toolInputs(), cache.Input{Name: "file system", Value: fmt.Sprintf("%+v", fs)}),
		Make: func(ctx context.Context, to string) error {
			c, err := j.tools.Command("mke2fs", fs.Arguments(to)...)
			if err != nil {
				return err
			}
			c.Env = append(c.Env, fs.Environment()...)
			_, err = j.Host.Run(ctx, c)
			return err
		}})
}

// node is what the agent is told.
func (j *job) node() spec.Node {
	i := j.Image
	return spec.Node{Image: i.Name, DiskID: i.DiskID(), Time: i.Time, Console: i.Console.Login, Board: i.BoardName, Cluster: i.Cluster, Storage: i.Storage, Swap: i.Swap, Settings: i.Settings,
		Mongod: spec.NodeMongod{Version: i.Mongod.Version, Config: i.Mongod.Config}}
}

func (j *job) joinInitramfs(ctx context.Context) (string, step.Outcome, error) {
	modules, _, err := j.maker.Modules(ctx, j.kernel)
	if err != nil {
		return "", step.Outcome{}, err
	}
	parts := []string{j.get(plan.Busybox), modules, j.get(plan.Agent)}
	in := []cache.Input{{Name: "busybox", Value: filepath.Base(parts[0])}, {Name: "modules", Value: filepath.Base(parts[1])}, {Name: "agent", Value: filepath.Base(parts[2])}}
	for _, s := range settings(j.node()) {
		in = append(in, cache.Input{Name: s.name, Value: s.value})
	}
	return j.Cache.Get(ctx, cache.Part{Name: "initramfs/joined", For: j.Image.Name, Inputs: in,
		Make: func(ctx context.Context, to string) error { return join(to, parts, j.node()) }})
}

func join(to string, parts []string, n spec.Node) error {
	config, err := initramfs.Config(n)
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	var readers []io.Reader
	for _, p := range parts {
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		readers = append(readers, f)
	}
	if err := initramfs.Concat(out, append(readers, bytes.NewReader(config))...); err != nil {
		return err
	}
	return out.Close()
}

type setting struct{ name, value string }

// flat lists a tree's values by their path, sorted.
func flat(path string, v any) []setting {
	m, ok := v.(map[string]any)
	if !ok {
		if v == nil {
			return nil
		}
		return []setting{{path, fmt.Sprint(v)}}
	}
	var names []string
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	var all []setting
	for _, name := range names {
		all = append(all, flat(path+"."+name, m[name])...)
	}
	return all
}
