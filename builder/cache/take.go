package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"grove/internal/step"
)

// Take copies a file at hand into the cache, if it has this sum: nobody changes it there, and it stays when the file is gone.
func (c *Cache) Take(ctx context.Context, file, sum string) (path string, err error) {
	if kept, found := c.Blob(sum); found {
		return kept, nil
	}
	in, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	temp, clean, err := c.Temp(filepath.Base(file))
	if err != nil {
		return "", err
	}
	defer clean()
	out, err := os.Create(temp)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, step.Reader(ctx, in))
	if err = errors.Join(err, out.Close()); err != nil {
		return "", fmt.Errorf("copy %s into the cache: %w", file, err)
	}
	kept, err := c.Keep(temp, sum)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return kept, nil
}
