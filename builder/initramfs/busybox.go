package initramfs

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/u-root/gobusybox/src/pkg/bb/bbinternal"
	"github.com/u-root/u-root/pkg/cpio"
	"golang.org/x/tools/go/packages"

	"grove/builder/cache"
	"grove/internal/step"
)

// tags choose the gosh that reads plain lines, which the kernel's terminal edits and echoes: its editors redraw the line with escape codes that a serial console turns
// into noise, and a script that types would have to know them.
var tags = []string{"-tags", "goshsmall"}

// Busybox gives the part with the folders of / and the commands, import paths of Go programs that tools.go makes part of the module.
//
// gobusybox rewrites each command into a package that registers its main function. Its own driver, though, type-checks and copies all dependencies with the
// standard library (6.6 s of CPU each time) and compiles them anew (50 s). Here it only sees the commands, with their dependencies as compiled by go build, and
// the busybox is an ordinary module with Grove's go.mod: 0.9 s with a warm build cache.
func (m Maker) Busybox(ctx context.Context, commands []string) (string, step.Outcome, error) {
	target, err := targetOf(m.Arch)
	if err != nil {
		return "", step.Outcome{}, err
	}
	versions, err := m.Source.hash()
	if err != nil {
		return "", step.Outcome{}, err
	}
	commands = slices.Sorted(slices.Values(commands))
	if err := distinct(commands); err != nil {
		return "", step.Outcome{}, err
	}
	inputs := append(versions, cache.Input{Name: "commands", Value: strings.Join(commands, " ")}, cache.Input{Name: "build tags", Value: strings.Join(tags, " ")})
	return m.Cache.Get(ctx, cache.Part{
		Name:   "initramfs/busybox",
		For:    m.Image,
		Inputs: append(inputs, m.Source.inputs(target)...),
		Make: func(ctx context.Context, to string) error {
			b := busybox{m.Source, target, commands, to + ".source"} // the cache removes it with the folder that holds both
			program, err := b.build(ctx)
			if err != nil {
				return fmt.Errorf("build the busybox: %w", err)
			}
			return pack(to, append(root(), b.records(program)...))
		},
	})
}

// distinct refuses two commands that would have one name in /bbin.
func distinct(commands []string) error {
	seen := map[string]string{}
	for _, c := range commands {
		if other := seen[path.Base(c)]; other != "" {
			return fmt.Errorf("name the commands: %s and %s would both be /bbin/%s", other, c, path.Base(c))
		}
		seen[path.Base(c)] = c
	}
	return nil
}

// busybox is a Go module in a folder of its own: main.go, and a package a command.
type busybox struct {
	source   Source
	target   target
	commands []string
	dir      string
}

// register is gobusybox's list of commands, which every rewritten command enters and main looks up.
const register = "github.com/u-root/gobusybox/src/pkg/bb/bbmain"

func (b busybox) build(ctx context.Context) (program []byte, err error) {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return nil, err
	}
	if err := b.rewrite(ctx); err != nil {
		return nil, err
	}
	if err := b.module(); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(b.dir, "main.go"), []byte(b.main()), 0o644); err != nil {
		return nil, err
	}
	out := filepath.Join(b.dir, "bb")
	if err := b.source.build(ctx, b.dir, b.target, out, append(slices.Clone(tags), ".")...); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

// rewrite loads the commands with their types, which gobusybox needs to keep the order of their variables' initialisation.
func (b busybox) rewrite(ctx context.Context) error {
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Mode: packages.LoadSyntax | packages.NeedModule | packages.NeedEmbedFiles,
		Dir: b.source.Dir, Env: append(os.Environ(), b.target...), BuildFlags: slices.Concat(flags, tags),
	}, b.commands...)
	if err != nil {
		return fmt.Errorf("load the commands: %w", err)
	}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return fmt.Errorf("load the command %s: %w", p.PkgPath, p.Errors[0])
		}
		if p.Name != "main" {
			return fmt.Errorf("load the command %s: it is the package %s, not a program", p.PkgPath, p.Name)
		}
		name := path.Base(p.PkgPath)
		if err := bbinternal.NewPackage(name, p).Rewrite(filepath.Join(b.dir, name), register); err != nil {
			return fmt.Errorf("rewrite the command %s: %w", p.PkgPath, err)
		}
	}
	return nil
}

// module gives the folder Grove's requirements under another name, so that each dependency has the version and checksum it has there.
func (b busybox) module() error {
	for _, file := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(b.source.Dir, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(b.dir, file), moduleLine.ReplaceAll(data, []byte("module busybox")), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// main runs the command by whose name the program was called, or else the one that its first argument names.
func (b busybox) main() string {
	var imports strings.Builder
	for _, c := range b.commands {
		fmt.Fprintf(&imports, "\t_ \"busybox/%s\"\n", path.Base(c))
	}
	return `package main

import (
	"fmt"
	"os"
	"path"
	"slices"

	"` + register + `"

` + imports.String() + `)

func main() {
	for len(os.Args) > 0 {
		name := path.Base(os.Args[0])
		if slices.Contains(bbmain.ListCmds(), name) {
			bbmain.Run(name)
		}
		os.Args = os.Args[1:]
		if name != "bb" {
			break
		}
	}
	fmt.Fprintln(os.Stderr, "want one of these commands:", bbmain.ListCmds())
	os.Exit(1)
}
`
}

func (b busybox) records(program []byte) []cpio.Record {
	records := []cpio.Record{cpio.StaticFile("bbin/bb", string(program), 0o755)}
	for _, c := range b.commands {
		records = append(records, cpio.Symlink("bbin/"+path.Base(c), "bb"))
	}
	return records
}
