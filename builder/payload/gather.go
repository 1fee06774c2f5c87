package payload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

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

// opened is an unpacked package, below dir as usr/….
type opened struct {
	dir  string
	gave bool
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

// libraries adds what is needed until nothing more can be found. What then is still missing, package elfcheck reports.
func (g *gathering) libraries(ctx context.Context) error {
	given := map[string]bool{}
	for {
		var asked []string
		for _, file := range g.tree.missing(g.request.Image.Board.Arch) {
			if !given[file] {
				given[file], asked = true, append(asked, file)
			}
		}
		if asked == nil {
			return nil
		}
		var guessed []string
		for _, file := range asked {
			guessed = append(guessed, g.known(elfcheck.Packages(path.Base(file)))...)
		}
		if err := g.open(ctx, guessed); err != nil {
			return err
		}
		rest, err := g.find(asked)
		if err != nil {
			return err
		}
		if rest == nil {
			continue
		}
		if err := g.open(ctx, g.closed()); err != nil {
			return err
		}
		if _, err := g.find(rest); err != nil {
			return err
		}
	}
}

// find takes the files (a soname, or the path of a loader) from the open packages, and gives those that none has.
func (g *gathering) find(files []string) (rest []string, err error) {
	for _, file := range files {
		found := false
		for _, name := range slices.Sorted(maps.Keys(g.packages)) {
			if found, err = g.findIn(g.packages[name], file); err != nil {
				return nil, err
			} else if found {
				break
			}
		}
		if !found {
			rest = append(rest, file)
		}
	}
	return rest, nil
}

// findIn takes the file with the links that lead to it.
func (g *gathering) findIn(p *opened, file string) (bool, error) {
	places := []string{file}
	if path.Base(file) == file {
		places = []string{path.Join("lib", elfcheck.Multiarch(g.request.Image.Board.Arch), file), path.Join("lib", file)}
	}
	for _, place := range places {
		for hops := 0; hops < 8; hops++ {
			info, err := os.Lstat(filepath.Join(p.dir, "usr", place))
			if errors.Is(err, fs.ErrNotExist) {
				break
			} else if err != nil {
				return false, err
			}
			if err := g.take(p, place); err != nil {
				return false, err
			}
			if info.Mode()&fs.ModeSymlink == 0 {
				return true, nil
			}
			target, err := os.Readlink(filepath.Join(p.dir, "usr", place))
			if err != nil {
				return false, err
			}
			place = elfcheck.Follow(place, target)
		}
	}
	return false, nil
}

// copyrights adds those of the packages that gave something. Some packages of one source share a folder, by a link.
func (g *gathering) copyrights(ctx context.Context) error {
	for names := g.gave(); len(names) > 0; {
		name := names[0]
		names = names[1:]
		doc := path.Join("share/doc", name)
		place := filepath.Join(g.packages[name].dir, "usr", doc)
		target, err := os.Readlink(place)
		if err != nil {
			if _, err := os.Stat(filepath.Join(place, "copyright")); err == nil {
				err = g.take(g.packages[name], path.Join(doc, "copyright"))
				if err != nil {
					return err
				}
			}
			continue
		}
		if err := g.take(g.packages[name], doc); err != nil {
			return err
		}
		for _, other := range g.known([]string{path.Base(target)}) {
			if err := g.open(ctx, []string{other}); err != nil {
				return err
			}
			if !g.packages[other].gave {
				g.packages[other].gave, names = true, append(names, other)
			}
		}
	}
	return nil
}

// gave lists the packages with something in the tree.
func (g *gathering) gave() (names []string) {
	for name, p := range g.packages {
		if p.gave {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (g *gathering) known(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return g.at(name) < 0 })
}

func (g *gathering) at(name string) int {
	return slices.IndexFunc(g.request.Packages, func(p Package) bool { return p.Name == name })
}

func (g *gathering) closed() (names []string) {
	for _, p := range g.request.Packages {
		if g.packages[p.Name] == nil {
			names = append(names, p.Name)
		}
	}
	return names
}

// open unpacks packages, side by side; those already open are passed over.
func (g *gathering) open(ctx context.Context, names []string) error {
	for _, name := range names {
		if g.at(name) < 0 {
			return fmt.Errorf("package %s is not among those that were fetched; if it is a virtual one, name the package itself", name)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for _, name := range names {
		if g.packages[name] != nil {
			continue
		}
		at := g.at(name)
		p := &opened{dir: filepath.Join(g.work, name)}
		g.packages[name] = p
		as, arch := roleOf(name, g.request.Image.Packages), g.request.Image.Board.Arch
		group.Go(func() error {
			if err := os.MkdirAll(p.dir, 0o755); err != nil {
				return err
			}
			return g.request.Unpack(ctx, g.request.Packages[at].File, p.dir, func(file string) bool { return wanted(name, as, arch, file) })
		})
	}
	return group.Wait()
}

func (g *gathering) check() diag.Findings {
	who := func(soname string) []string {
		if g.request.WhoHas != nil {
			if names := g.request.WhoHas(soname); len(names) > 0 {
				return names
			}
		}
		return elfcheck.Packages(soname)
	}
	return elfcheck.Check(g.tree.elf, g.request.Image.Board.Arch, who)
}
