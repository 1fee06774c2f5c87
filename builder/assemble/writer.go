package assemble

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"grove/builder/artifact/manifest"
	"grove/internal/step"
)

const chunk = 1 << 20

// writer writes an image and remembers where, so that what was never written is neither read nor hashed from the file. Holes are known by this record and
// not by asking the file system, whose answer depends on which it is.
type writer struct {
	f    *os.File
	size int64

	mu      sync.Mutex
	changed *sync.Cond
	written []manifest.Range // whole blocks, in any order until finish
	reached int64            // all before it is complete
	over    bool             // nothing more is written
}

func newWriter(f *os.File, size int64) *writer {
	w := &writer{f: f, size: size}
	w.changed = sync.NewCond(&w.mu)
	return w
}

// WriteAt writes and remembers.
func (w *writer) WriteAt(b []byte, off int64) (int, error) {
	n, err := w.f.WriteAt(b, off)
	w.remember(off, int64(n))
	return n, err
}

// remember notes a piece as mapped; neighbours become one.
func (w *writer) remember(start, bytes int64) {
	if bytes == 0 {
		return
	}
	end := (start + bytes + manifest.Block - 1) / manifest.Block * manifest.Block
	start = start / manifest.Block * manifest.Block
	w.mu.Lock()
	defer w.mu.Unlock()
	i, _ := slices.BinarySearchFunc(w.written, start, func(r manifest.Range, at int64) int {
		if r.Start+r.Size < at {
			return -1
		}
		return 1
	})
	j := i
	for ; j < len(w.written) && w.written[j].Start <= end; j++ {
		start, end = min(start, w.written[j].Start), max(end, w.written[j].Start+w.written[j].Size)
	}
	w.written = slices.Replace(w.written, i, j, manifest.Range{Start: start, Size: end - start})
}

// reach says that all before an offset is complete.
func (w *writer) reach(off int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached = max(w.reached, off)
	w.changed.Broadcast()
}

// finish says that nothing more is written, be it since all is.
func (w *writer) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.changed.Broadcast()
}

// next gives the piece of data at or behind an offset, cut at what is complete, and where the hole before it ends. It waits until something is complete.
func (w *writer) next(off int64) (hole, data int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.reached <= off && !w.over {
		w.changed.Wait()
	}
	limit := w.reached
	if w.over {
		limit = w.size
	}
	for _, r := range w.written {
		if end := min(r.Start+r.Size, limit); end > off {
			start := min(max(r.Start, off), limit)
			return start - off, end - start
		}
	}
	return limit - off, 0
}

// hash gives the SHA-256 of the whole image, following what is complete.
func (w *writer) hash(ctx context.Context, count step.Counter) (string, error) {
	h, buf, zeros := sha256.New(), make([]byte, chunk), make([]byte, chunk)
	for off := int64(0); off < w.size; {
		hole, data := w.next(off)
		for _, part := range []struct {
			bytes int64
			zero  bool
		}{{hole, true}, {data, false}} {
			for left := part.bytes; left > 0; {
				if ctx.Err() != nil {
					return "", context.Cause(ctx)
				}
				b := zeros[:min(left, chunk)]
				if !part.zero {
					b = buf[:len(b)]
					if _, err := w.f.ReadAt(b, off); err != nil {
						return "", err
					}
				}
				h.Write(b)
				off, left = off+int64(len(b)), left-int64(len(b))
				count.Add(int64(len(b)))
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// pieces hashes what was written, piece by piece, when nothing more is.
func (w *writer) pieces(ctx context.Context) ([]manifest.Range, error) {
	buf, pieces := make([]byte, chunk), slices.Clone(w.written)
	for i := range pieces {
		r, h := &pieces[i], sha256.New()
		for at := r.Start; at < r.Start+r.Size; at += chunk {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			b := buf[:min(chunk, r.Start+r.Size-at)]
			if _, err := w.f.ReadAt(b, at); err != nil {
				return nil, err
			}
			h.Write(b)
		}
		r.SHA256 = hex.EncodeToString(h.Sum(nil))
	}
	return pieces, nil
}

// copyFile copies a whole file; the kernel does it without us where it can.
func (w *writer) copyFile(ctx context.Context, path string, off, bytes int64) error {
	src, err := os.Open(path)
	if err != nil {
		return err
	}
	defer src.Close()
	if _, err := w.f.Seek(off, io.SeekStart); err != nil {
		return err
	}
	for left := bytes; left > 0; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := io.CopyN(w.f, src, min(left, 8*chunk))
		w.remember(off, n)
		if err != nil {
			return fmt.Errorf("copy %s: %w", path, err)
		}
		off, left = off+n, left-n
		w.reach(off)
	}
	return nil
}

// copySparse copies and leaves blocks of zeros out of the file, but not out of the map.
func (w *writer) copySparse(ctx context.Context, src *io.SectionReader, off int64) error {
	buf, zeros := make([]byte, chunk), make([]byte, manifest.Block)
	w.remember(off, src.Size())
	for at := int64(0); at < src.Size(); {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b := buf[:min(chunk, src.Size()-at)]
		if _, err := src.ReadAt(b, at); err != nil {
			return err
		}
		for i := 0; i < len(b); i += manifest.Block {
			block := b[i:min(i+manifest.Block, len(b))]
			if bytes.Equal(block, zeros[:len(block)]) {
				continue
			}
			if _, err := w.f.WriteAt(block, off+at+int64(i)); err != nil {
				return err
			}
		}
		at += int64(len(b))
	}
	return nil
}
