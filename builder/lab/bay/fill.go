package bay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
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
