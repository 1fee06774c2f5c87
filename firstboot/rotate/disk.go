package rotate

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// disk is what is done to the folder; tests cut the power between two of these, and within one.
type disk interface {
	Rename(from, to string) error // on the medium when it returns
	Remove(path string) error
	Create(path string) (packing, error)
}

type packing interface {
	io.WriteCloser
	Sync() error
}

func (s *Site) hands() disk {
	if s.disk != nil {
		return s.disk
	}
	return real{}
}

type real struct{}

func (real) Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (real) Remove(path string) error { return os.Remove(path) }

func (real) Create(path string) (packing, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}
