package payload

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"grove/builder/elfcheck"
	"grove/internal/spec"
)

// tree is the root of the squashfs as a folder. Files are hard links into the unpacked packages and the cache where that can be, so that 140 MB of mongod are not
// written again. Their modes are 0644 or 0755 and nothing else: no set-user-ID, and no trace of the builder's umask.
type tree struct {
	dir string
	elf elfcheck.Tree
}

func newTree(dir string) (*tree, error) {
	t := &tree{dir: dir, elf: elfcheck.Tree{Objects: map[string]elfcheck.Object{}, Links: map[string]string{}}}
	return t, errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o755))
}

// add puts the file or link at place into the tree; what is there already stays.
func (t *tree) add(name, place string) error {
	to := filepath.Join(t.dir, name)
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	if err := t.folder(path.Dir(name)); err != nil {
		return err
	}
	info, err := os.Lstat(place)
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(place)
		if err != nil {
			return err
		}
		if err := os.Symlink(target, to); err != nil {
			return err
		}
	case info.Mode().IsRegular():
		if err := link(place, to, info.Mode()); err != nil {
			return fmt.Errorf("put %s into the system: %w", name, err)
		}
	default:
		return fmt.Errorf("put %s into the system: it is a %s, want a file or link", name, info.Mode().Type())
	}
	return t.elf.Add(name, to)
}

// folder makes a folder of the tree and those above, whatever the umask is.
func (t *tree) folder(name string) error {
	to := filepath.Join(t.dir, name)
	if info, err := os.Lstat(to); err == nil && info.IsDir() {
		return nil
	}
	if err := t.folder(path.Dir(name)); err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	return os.Chmod(to, 0o755)
}

// link makes a hard link, or a copy where the mode is not the wanted one or the file lies on another file system.
func link(from, to string, has fs.FileMode) error {
	want := fs.FileMode(0o644)
	if has&0o100 != 0 {
		want = 0o755
	}
	if has == want && os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, want)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Chmod(want), out.Close())
}

// addAll puts a folder's content below name; a folder that is not there is empty.
func (t *tree) addAll(folder, name string) error {
	err := filepath.WalkDir(folder, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, p)
		if err != nil {
			return err
		}
		return t.add(path.Join(name, filepath.ToSlash(rel)), p)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// missing lists what the programs so far need and the tree lacks: sonames, and paths of loaders. Before glibc 2.34 the look-up of names and users was in
// libraries of its own, which no file names.
func (t *tree) missing(arch spec.Arch) []string {
	all := map[string]bool{}
	for _, soname := range elfcheck.Missing(t.elf, arch) {
		all[soname] = true
	}
	for _, o := range t.elf.Objects {
		if o.Interp != "" {
			all[elfcheck.Follow("", o.Interp)] = true
		}
	}
	if libc, found := t.elf.Library("", "libc.so.6", arch); found && !slices.Contains(t.elf.Objects[libc].Gives, "GLIBC_2.34") {
		all["libnss_files.so.2"], all["libnss_dns.so.2"] = true, true
	}
	return slices.Sorted(maps.Keys(all))
}

// files lists the tree by path.
func (t *tree) files() (all []File, err error) {
	err = filepath.WalkDir(t.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == t.dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := File{Path: filepath.ToSlash(strings.TrimPrefix(p, t.dir+string(filepath.Separator))), Mode: uint32(info.Mode().Perm())}
		switch {
		case d.IsDir():
			f.Path += "/"
		case info.Mode()&fs.ModeSymlink != 0:
			if f.Link, err = os.Readlink(p); err != nil {
				return err
			}
		default:
			f.Size = info.Size()
		}
		all = append(all, f)
		return nil
	})
	return all, err
}
