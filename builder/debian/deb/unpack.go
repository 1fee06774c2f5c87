// Package deb takes the files out of a Debian package, without dpkg, into a tree with merged /usr.
//
// Limits: no owners, no devices, no maintainer scripts; the control part is not read.
package deb

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/xi2/xz"
	ar "pault.ag/go/debian/deb"
)

// Unpack puts the files of a package below the folder into, which exists. want, if not nil, is asked for each path, such as usr/lib/x86_64-linux-gnu/libm.so.6;
// folders come with the files in them. What stands in the way is replaced, as dpkg does, in the order in which packages are unpacked.
//
// The tree is merged: lib, lib64, bin and sbin become usr/lib and so on. Modes are kept, owners are not, devices are passed over. An entry that would lie
// outside of the tree, also by way of a link that is in it, is an error. Packages that hold no file in common may be unpacked into one tree at once.
func Unpack(ctx context.Context, file, into string, want func(path string) bool) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	defer f.Close()
	root, err := os.OpenRoot(into)
	if err != nil {
		return fmt.Errorf("unpack into: %w", err)
	}
	defer root.Close()
	data, err := contents(f)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", file, err)
	}
	u := unpacker{root: root, want: want, modes: map[string]fs.FileMode{}, buf: make([]byte, 256<<10)}
	for t := tar.NewReader(data); ; {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", file, err)
		}
		if err := u.entry(h, t); err != nil {
			return fmt.Errorf("unpack %s from %s into %s: %w", h.Name, file, into, err)
		}
	}
	if _, err := io.Copy(io.Discard, data); err != nil { // the check sum stands at the end
		return fmt.Errorf("unpack %s: %w", file, err)
	}
	return u.close()
}

// contents opens the data member of a .deb, which is an ar archive of debian-binary, control.tar and data.tar.
func contents(f *os.File) (io.Reader, error) {
	archive, err := ar.LoadAr(f)
	if err != nil {
		return nil, fmt.Errorf("this is no Debian package: %w", err)
	}
	for {
		member, err := archive.Next()
		if err != nil {
			return nil, fmt.Errorf("find data.tar in it: %w", err)
		}
		if member.Size < 0 {
			return nil, fmt.Errorf("its member %s has a negative size", member.Name)
		}
		if ending, is := strings.CutPrefix(member.Name, "data.tar"); is {
			return Decompress(bufio.NewReaderSize(member.Data, 256<<10), ending)
		}
	}
}

// Decompress opens what Debian packs its indexes and packages in, by the ending of the name.
//
// Of the decoders for xz, on one core: xi2 1.55 s for the kernel's package (35 MB, hardly compressible), 57 ms for e2fsprogs (1.6 MB), 1.17 s for an
// index (57 MB); therootcompany, its descendant, the same within the noise; ulikunitz 2.0 s, 72 ms and 1.79 s.
func Decompress(r io.Reader, ending string) (io.Reader, error) {
	switch ending {
	case ".gz":
		return gzip.NewReader(r)
	case ".xz":
		return xz.NewReader(r, xz.DefaultDictMax)
	case ".zst":
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		return d, err
	case "":
		return r, nil
	}
	return nil, fmt.Errorf("%q is a compression that is not known", ending)
}

// unpacker writes entries through root, which refuses every path that leaves it.
type unpacker struct {
	root    *os.Root
	want    func(string) bool
	modes   map[string]fs.FileMode // of the folders in the package
	folders []string               // made here, parents first; their modes are set last, since one may be read-only
	buf     []byte
}

func (u *unpacker) entry(h *tar.Header, body io.Reader) error {
	if !safe(h.Name) {
		return errors.New("the path leaves the tree")
	}
	name, merged := merge(h.Name)
	switch {
	case name == ".":
		return nil
	case h.Typeflag == tar.TypeDir:
		u.modes[name] = mode(h)
		if u.want == nil || u.want(name) {
			return u.folder(name)
		}
		return nil
	case merged && h.Typeflag == tar.TypeSymlink: // lib -> usr/lib: that is how the tree is
		return nil
	case u.want != nil && !u.want(name):
		return nil
	}
	switch h.Typeflag {
	case tar.TypeReg:
		return u.regular(name, h, body)
	case tar.TypeSymlink:
		return u.place(name, func() error { return u.root.Symlink(h.Linkname, name) })
	case tar.TypeLink:
		if !safe(h.Linkname) {
			return fmt.Errorf("its target %s leaves the tree", h.Linkname)
		}
		target, _ := merge(h.Linkname)
		return u.place(name, func() error { return u.root.Link(target, name) })
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return nil
	}
	return fmt.Errorf("entries of type %q are not known", h.Typeflag)
}

// safe says whether a path stays below the folder it is put in, by its own words.
func safe(name string) bool {
	return !strings.HasPrefix(name, "/") && path.Clean(name) != ".." && !strings.HasPrefix(path.Clean(name), "../")
}

// merge gives the path in a tree with merged /usr; top is set for the folders that are links there.
func merge(name string) (merged string, top bool) {
	name = path.Clean(name)
	first, rest, below := strings.Cut(name, "/")
	switch first {
	case "bin", "sbin", "lib", "lib32", "lib64", "libx32":
		return path.Join("usr", first, rest), !below
	}
	return name, false
}

// mode is permissions with set-uid, set-gid and sticky bits.
func mode(h *tar.Header) fs.FileMode {
	return h.FileInfo().Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
}

func (u *unpacker) regular(name string, h *tar.Header, body io.Reader) error {
	return u.place(name, func() error {
		f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := io.CopyBuffer(writer{f}, body, u.buf); err != nil {
			return err
		}
		if err := f.Chmod(mode(h)); err != nil {
			return err
		}
		return f.Close()
	})
}

// writer hides the file's ReadFrom, which would pass over the large buffer.
type writer struct{ io.Writer }

// place makes the folders above and, where something stands in the way, takes it away.
func (u *unpacker) place(name string, put func() error) error {
	err := put()
	if errors.Is(err, fs.ErrNotExist) {
		if err := u.folder(path.Dir(name)); err != nil {
			return err
		}
		err = put()
	}
	if errors.Is(err, fs.ErrExist) {
		if err := u.root.Remove(name); err != nil {
			return err
		}
		err = put()
	}
	return err
}

// folder makes a folder and those above it; one that is there, or a link to one within the tree, stays.
func (u *unpacker) folder(name string) error {
	if name == "." {
		return nil
	}
	if info, err := u.root.Stat(name); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is a file, want a folder", name)
		}
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := u.folder(path.Dir(name)); err != nil {
		return err
	}
	err := u.root.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil // another package is unpacked into the same tree and was faster
	}
	u.folders = append(u.folders, name)
	return err
}

func (u *unpacker) close() error {
	for i := len(u.folders) - 1; i >= 0; i-- {
		name := u.folders[i]
		mode, known := u.modes[name]
		if !known {
			mode = 0o755
		}
		if err := u.root.Chmod(name, mode); err != nil {
			return err
		}
	}
	return nil
}
