package payload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"grove/builder/elfcheck"
	"grove/internal/diag"
)

// gathering fills a tree. Packages are opened one by one as something in them is asked for, since most of a closure never is.
type gathering struct {
	request  Request
	tree     *tree
	work     string
	packages map[string]*opened
}

func (g *gathering) run(ctx context.Context) error {
	if err := g.mongod(); err != nil {
		return err
	}
	if err := g.programs(ctx); err != nil {
		return err
	}
	if err := g.libraries(ctx); err != nil {
		return err
	}
	if err := g.copyrights(ctx); err != nil {
		return err
	}
	if g.request.Modules.Folder == "" {
		return nil
	}
	return g.tree.addAll(g.request.Modules.Folder, ".")
}

func (g *gathering) mongod() error {
	if err := g.tree.add("bin/mongod", g.request.Mongod.File); err != nil {
		return err
	}
	return g.tree.addAll(g.request.Mongod.Docs, "share/doc/mongod")
}

// programs opens the packages that the image names.
func (g *gathering) programs(ctx context.Context) error {
	names := g.request.Image.Packages
	if err := g.open(ctx, names); err != nil {
		return err
	}
	for _, name := range names {
		p := g.packages[name]
		if roleOf(name, names) == whole {
			for _, dir := range []string{"bin", "sbin", "lib", "libexec"} {
				if err := g.tree.addAll(filepath.Join(p.dir, "usr", dir), dir); err != nil {
					return err
				}
			}
			p.gave = true
			continue
		}
		if err := g.choose(name, p); err != nil {
			return err
		}
	}
	return nil
}

func (g *gathering) choose(name string, p *opened) error {
	var files []string
	links := map[string]string{}
	for _, dir := range []string{"bin", "sbin"} {
		entries, err := os.ReadDir(filepath.Join(p.dir, "usr", dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			file := path.Join(dir, e.Name())
			files = append(files, file)
			if e.Type()&fs.ModeSymlink != 0 {
				if links[file], err = os.Readlink(filepath.Join(p.dir, "usr", file)); err != nil {
					return err
				}
			}
		}
	}
	take, lacks := chosen(name, files, links)
	if lacks != nil {
		return fmt.Errorf("package %s of %s has no %s", name, g.request.Image.Debian.Suite, strings.Join(lacks, ", "))
	}
	for _, file := range take {
		if err := g.take(p, file); err != nil {
			return err
		}
		if _, runs := g.tree.elf.Objects[file]; !runs && links[file] == "" {
			return fmt.Errorf("%s of package %s is a script, for which the system has no shell", file, name)
		}
	}
	return nil
}

// take puts a file of a package into the tree.
func (g *gathering) take(p *opened, file string) error {
	p.gave = true
	return g.tree.add(file, filepath.Join(p.dir, "usr", file))
}

func (g *gathering) check() diag.Findings {
	advise := g.request.Advise
	if advise == nil {
		advise = func(soname string) string { return elfcheck.LookIn(elfcheck.Packages(soname)) }
	}
	return elfcheck.Check(g.tree.elf, g.request.Image.Board.Arch, advise)
}
