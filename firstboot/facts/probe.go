package facts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"grove/internal/host"
	"grove/internal/size"
)

// Probe looks at one device as Look does, for whoever is about to write to it. What can't be looked at is an error here.
func Probe(ctx context.Context, machine host.Machine, dev string) (Content, error) {
	length, err := lengthOf(dev)
	if err != nil {
		return Content{}, fmt.Errorf("look at %s: %w", dev, err)
	}
	device, err := filepath.EvalSymlinks(dev) // blkid and wipefs say what they were asked about
	if err != nil {
		return Content{}, err
	}
	l := look{machine: machine}
	c, _, _ := l.content(ctx, target{dev: device, size: length})
	if c.Fault != "" {
		return Content{}, fmt.Errorf("look at %s: %s", dev, c.Fault)
	}
	return c, nil
}

// lengthOf is where a device, or a file in its place, ends.
func lengthOf(dev string) (size.Size, error) {
	f, err := os.Open(dev)
	if err != nil {
		return 0, err
	}
	end, err := f.Seek(0, io.SeekEnd)
	return size.Size(end), errors.Join(err, f.Close())
}
