package rotate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"grove/internal/size"
)

// files is a log and its old ones, the oldest first.
type files struct {
	dir   string
	there bool
	size  size.Size
	began time.Time // by its first line
	old   []old
}

type old struct {
	path   string
	number int
	packed bool
}

func (f files) newest() int {
	if len(f.old) == 0 {
		return 0
	}
	return f.old[len(f.old)-1].number
}

// survey reads the folder, and mends what a power cut has left in it: a packing that was not finished is removed, and a log that is packed already.
func survey(log string) (f files, err error) {
	f.dir = filepath.Dir(log)
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil // mongod has never run
	} else if err != nil {
		return f, err
	}
	packed := map[int]bool{}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), filepath.Base(log)+".")
		path := filepath.Join(f.dir, e.Name())
		if !ours {
			continue
		}
		if strings.HasSuffix(rest, unfinished) {
			if err := os.Remove(path); err != nil {
				return f, err
			}
			continue
		}
		digits, gz := strings.CutSuffix(rest, ".gz")
		if n, err := strconv.Atoi(digits); err == nil && n > 0 && strconv.Itoa(n) == digits {
			f.old = append(f.old, old{path, n, gz})
			packed[n] = packed[n] || gz
		}
	}
	slices.SortFunc(f.old, func(a, b old) int { return cmp.Compare(a.number, b.number) })
	for i := len(f.old) - 1; i >= 0; i-- {
		if o := f.old[i]; !o.packed && packed[o.number] {
			if err := os.Remove(o.path); err != nil {
				return f, err
			}
			f.old = slices.Delete(f.old, i, i+1)
		}
	}
	return f, f.current(log)
}

// stamp is the time in a log's first line: {"t":{"$date":"2026-11-30T22:00:00.000+00:00"} since 4.4, at its beginning before.
var stamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:?\d\d)`)

func (f *files) current(log string) error {
	file, err := os.Open(log)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	f.there, f.size = true, size.Size(info.Size())
	head := make([]byte, 80)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	text := strings.Replace(string(stamp.Find(head[:n])), "+0000", "+00:00", 1)
	f.began, _ = time.Parse("2006-01-02T15:04:05.000Z07:00", text)
	return nil
}

// unfinished is the end of the name of a log that is being packed.
const unfinished = ".packing"

// pack packs all old logs but the newest.
func (f files) pack(ctx context.Context) error {
	for i, o := range f.old {
		if o.packed || i == len(f.old)-1 {
			continue
		}
		if err := packOne(ctx, o.path); err != nil {
			return fmt.Errorf("pack %s: %w", o.path, err)
		}
	}
	return nil
}

// packOne removes the log when its packed twin is safely there. On a full disk the log stays.
func packOne(ctx context.Context, path string) (err error) {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path+unfinished, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(to.Name()))
		}
	}()
	z := gzip.NewWriter(to)
	_, err = io.Copy(z, reader{ctx, from})
	if err = errors.Join(err, z.Close(), to.Sync(), to.Close()); err != nil {
		return err
	}
	if err = os.Rename(to.Name(), path+".gz"); err != nil {
		return err
	}
	dir, openErr := os.Open(filepath.Dir(path))
	if openErr != nil {
		return openErr
	}
	defer dir.Close()
	return errors.Join(dir.Sync(), os.Remove(path))
}

// reader ends with its context.
type reader struct {
	ctx  context.Context
	from io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.from.Read(p)
}
