package assemble

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"grove/builder/artifact"
	"grove/builder/artifact/manifest"
	"grove/internal/step"
)

// draft is a set of files under temporary names.
type draft struct {
	folder string
	files  []pending
}

type pending struct {
	f    *os.File
	path string // its name when published
}

// create makes a file that will have this path: .NAME.img.123.partial until then.
func (d *draft) create(path string) (*os.File, error) {
	f, err := os.CreateTemp(d.folder, "."+filepath.Base(path)+".*.partial")
	if err != nil {
		return nil, fmt.Errorf("output folder: %w", err)
	}
	d.files = append(d.files, pending{f, path})
	return f, f.Chmod(0o644)
}

// discard removes what was not published.
func (d *draft) discard() {
	for _, p := range d.files {
		p.f.Close()
		os.Remove(p.f.Name())
	}
}

// publish gives the files their names, once all are on the disk, the one called last at the end.
func (d *draft) publish(last string) error {
	var all errgroup.Group
	for _, p := range d.files {
		all.Go(p.f.Sync)
	}
	if err := all.Wait(); err != nil {
		return fmt.Errorf("write %s to the disk: %w", last, err)
	}
	for _, final := range []bool{false, true} {
		for _, p := range d.files {
			if (p.path == last) != final {
				continue
			}
			if err := os.Rename(p.f.Name(), p.path); err != nil {
				return fmt.Errorf("give %s its name: %w", p.path, err)
			}
		}
	}
	folder, err := os.Open(d.folder)
	if err != nil {
		return fmt.Errorf("write %s to the disk: %w", last, err)
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("write %s to the disk: %w", last, err)
	}
	return nil
}

// compress writes the image once more, as zstd level 3, on all processors; their number does not bear on the result.
func (d *draft) compress(ctx context.Context, at artifact.Files, digest manifest.Digest, count step.Counter) error {
	image := d.files[0].f
	out, err := d.create(at.Compressed)
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(3)), zstd.WithEncoderConcurrency(runtime.NumCPU()))
	if err != nil {
		return err
	}
	count.Total(2 * int64(digest.Size))
	buf, in := make([]byte, chunk), io.NewSectionReader(image, 0, int64(digest.Size))
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := in.Read(buf)
		if n > 0 {
			if _, err := z.Write(buf[:n]); err != nil {
				return err
			}
			count.Add(int64(n))
		}
		if err == io.EOF {
			return z.Close()
		}
		if err != nil {
			return err
		}
	}
}
