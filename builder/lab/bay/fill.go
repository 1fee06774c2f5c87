package bay

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"grove/internal/host"
)

// fill makes the disk's file: blank, or with the content of another, holes kept.
func (s *slot) fill() (err error) {
	out, err := os.OpenFile(s.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := out.Truncate(int64(s.Size)); err != nil || s.File == "" {
		return err
	}
	in, err := os.Open(s.File)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := copySparse(out, in); err != nil {
		return fmt.Errorf("copy %s: %w", s.File, err)
	}
	return nil
}

// copySparse leaves out the pieces that are all zero.
func copySparse(out io.WriterAt, in io.Reader) error {
	piece, zeros := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); ; {
		n, err := io.ReadFull(in, piece)
		if n > 0 && !bytes.Equal(piece[:n], zeros[:n]) {
			if _, err := out.WriteAt(piece[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
		switch {
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// Sum tells the disk's content from any other, as it is now: a SHA-256 of its size and of all pieces of 64 KiB that are not zero, each with its place. What was never written is not
// even read. A node that is on may be writing to it.
func (b *Bay) Sum(name string) (string, error) {
	path, err := b.File(name)
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	extents, err := b.host.Extents(f)
	if err != nil {
		return "", fmt.Errorf("read disk %s of %s: %w", name, b.node, err)
	}
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	binary.Write(h, binary.LittleEndian, info.Size())
	if err := pieces(f, extents, func(at int64, piece []byte) {
		binary.Write(h, binary.LittleEndian, at)
		h.Write(piece)
	}); err != nil {
		return "", fmt.Errorf("read disk %s of %s: %w", name, b.node, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// pieces gives those that are not zero, by their places, which are multiples of a piece: how a file system keeps its holes does not matter.
func pieces(f io.ReaderAt, extents []host.Extent, each func(at int64, piece []byte)) error {
	const size = 64 << 10
	piece, zeros := make([]byte, size), make([]byte, size)
	next := int64(0)
	for _, e := range extents {
		for at := max(e.Start/size*size, next); at < e.Start+e.Size; at += size {
			n, err := f.ReadAt(piece, at)
			if err != nil && err != io.EOF {
				return err
			}
			if !bytes.Equal(piece[:n], zeros[:n]) {
				each(at, piece[:n])
			}
			next = at + size
		}
	}
	return nil
}
