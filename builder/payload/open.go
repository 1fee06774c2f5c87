package payload

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// opened is an unpacked package, below dir as usr/….
type opened struct {
	dir  string
	gave bool
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
