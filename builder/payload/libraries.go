package payload

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"grove/builder/elfcheck"
)

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
