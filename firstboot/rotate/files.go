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
func (s *Site) survey() (files, error) {
	f := files{dir: filepath.Dir(s.Log)}
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil // mongod has never run
	}
	var needless []string
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), filepath.Base(s.Log)+".")
		path := filepath.Join(f.dir, e.Name())
		digits, packed := strings.CutSuffix(rest, ".gz")
		if n, err := strconv.Atoi(digits); ours && err == nil && n > 0 && strconv.Itoa(n) == digits {
			f.old = append(f.old, old{path, n, packed})
		} else if ours && strings.HasSuffix(rest, unfinished) {
			needless = append(needless, path)
		}
	}
	slices.SortFunc(f.old, func(a, b old) int {
		return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(b.path, a.path)) // the packed one first
	})
	f.old = slices.CompactFunc(f.old, func(packed, plain old) bool {
		twins := packed.number == plain.number
		if twins {
			needless = append(needless, plain.path)
		}
		return twins
	})
	for _, path := range needless {
		err = errors.Join(err, s.hands().Remove(path))
	}
	if err = errors.Join(err, f.current(s.Log)); err != nil {
		return f, fmt.Errorf("look at mongod's log: %w", err)
	}
	return f, nil
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
	text := string(stamp.Find(head[:n]))
	for _, zone := range []string{"Z07:00", "Z0700"} { // since 4.4, and before
		if f.began, err = time.Parse("2006-01-02T15:04:05.000"+zone, text); err == nil {
			break
		}
	}
	return nil // without a time it is left to its length
}

// unfinished is the end of the name of a log that is being packed.
const unfinished = ".packing"

// pack packs all old logs but the newest.
func (s *Site) pack(ctx context.Context, f files) error {
	for i, o := range f.old {
		if o.packed || i == len(f.old)-1 {
			continue
		}
		if err := s.packOne(ctx, o.path); err != nil {
			return fmt.Errorf("pack %s, which stays as it is: %w", o.path, err)
		}
	}
	return nil
}

// packOne removes the log when its packed twin is safely there. On a full disk the log stays.
func (s *Site) packOne(ctx context.Context, path string) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := s.hands().Create(path + unfinished)
	if err != nil {
		return err
	}
	if err := write(ctx, to, from); err != nil {
		return errors.Join(err, s.hands().Remove(path+unfinished))
	}
	if err := s.hands().Rename(path+unfinished, path+".gz"); err != nil {
		return err
	}
	return s.hands().Remove(path)
}

func write(ctx context.Context, to packing, from io.Reader) error {
	z := gzip.NewWriter(to)
	_, err := io.Copy(z, reader{ctx, from})
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		err = to.Sync()
	}
	if closed := to.Close(); err == nil {
		err = closed
	}
	return err
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
