package zeros

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"grove/internal/size"
)

// disk is a device of zeros but for one piece, and counts what is read of it.
type disk struct{ length, at, data size.Size }

func (d disk) ReadAt(b []byte, off int64) (int, error) {
	start, end := size.Size(off), size.Size(off)+size.Size(len(b))
	if start < 0 || end > d.length {
		return 0, fmt.Errorf("read behind the end: %d bytes at %d", len(b), off)
	}
	clear(b)
	for i := max(start, d.at); i < min(end, d.at+d.data); i++ {
		b[i-start] = 0x80
	}
	return len(b), nil
}

func TestFind(t *testing.T) {
	const tib = size.TiB
	for _, c := range []struct {
		name  string
		disk  disk
		found bool
	}{
		{"nothing on a small disk", disk{length: 8 * size.MiB}, false},
		{"nothing on a large one", disk{length: tib}, false},
		{"nothing on a length that no power divides", disk{length: 1953525168 * 512}, false},
		{"nothing on one sector", disk{length: 512}, false},
		{"one byte in the middle of a small disk", disk{16 * size.MiB, 7*size.MiB + 77, 1}, true},
		{"the first byte", disk{tib, 0, 1}, true},
		{"the last byte", disk{tib, tib - 1, 1}, true},
		{"the last byte of the first MiB", disk{tib, size.MiB - 1, 1}, true},
		{"a copy of ext4's superblock", disk{tib, 343 * 128 * size.MiB, 1024}, true},
		{"Btrfs's second superblock", disk{tib, 64*size.MiB + 64, 16}, true},
		{"an XFS group at a quarter", disk{tib, tib / 4 * 3, 512}, true},
		{"the very middle", disk{tib, tib / 2, 512}, true},
		{"two stretches in a row, wherever they begin", disk{2 * size.GiB, 777*size.MiB + 123, 8 * size.MiB}, true},
		{"4 GiB on a TiB", disk{tib, tib/3 + 12345, 4 * size.GiB}, true},
	} {
		at, found, err := Find(t.Context(), c.disk, c.disk.length)
		if found != c.found || err != nil {
			t.Errorf("%s: got %s, %v, %v; want %v", c.name, at, found, err, c.found)
		}
		if found && (at < c.disk.at || at >= c.disk.at+c.disk.data) {
			t.Errorf("%s: got %s, which is not where the data is", c.name, at)
		}
	}
}

// The promise of the package's comment: on a disk of 2 GiB any 8 MiB are found.
func TestDataOfTwoStretchesIsFoundAnywhere(t *testing.T) {
	const length = 2 * size.GiB
	for at := size.Size(0); at+8*size.MiB <= length; at += 7*size.MiB + 4096 {
		if _, found, err := Find(t.Context(), disk{length, at, 8 * size.MiB}, length); !found || err != nil {
			t.Fatalf("8 MiB at %s: found %v, %v", at, found, err)
		}
	}
}

func TestPlacesAreTheSameEachTimeAndNoMoreThanNeeded(t *testing.T) {
	for _, length := range []size.Size{16*size.MiB + 512, size.GiB, 1953525168 * 512, 16 * size.TiB} {
		first, second := places(length), places(length)
		var sum size.Size
		for n, p := range first {
			if p != second[n] || p.start < 0 || p.start+p.length > length {
				t.Fatalf("%s: %v and %v", length, p, second[n])
			}
			sum += p.length
		}
		if sum > 6*size.MiB {
			t.Errorf("%s: reads %s", length, sum.Short())
		}
	}
}

func TestWhatDoesNotReadIsNotBlank(t *testing.T) {
	bad := errors.New("input/output error")
	_, found, err := Find(t.Context(), broken{bad}, size.GiB)
	if found || !errors.Is(err, bad) {
		t.Errorf("got %v, %v", found, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(bad)
	if _, found, err := Find(ctx, disk{length: size.GiB}, size.GiB); found || !errors.Is(err, bad) {
		t.Errorf("when it is called off: got %v, %v", found, err)
	}
}

type broken struct{ err error }

func (b broken) ReadAt([]byte, int64) (int, error) { return 0, b.err }
