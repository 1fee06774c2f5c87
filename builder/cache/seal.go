package cache

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sealOf is the file that holds the seal of a blob or part.
func (c *Cache) sealOf(path string) string {
	rel, err := filepath.Rel(c.dir, path)
	if err != nil {
		panic("BUG: " + path + " is not in the cache")
	}
	return filepath.Join(c.dir, "seals", rel)
}

// seal notes what is complete now.
func (c *Cache) seal(path string) error {
	text, err := measure(path)
	if err != nil {
		return fmt.Errorf("seal %s: %w", path, err)
	}
	to := c.sealOf(path)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	temp, clean, err := c.Temp("seal")
	if err != nil {
		return err
	}
	defer clean()
	if err := os.WriteFile(temp, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, to)
}

// whole is whether a blob or part is there and fits its seal.
func (c *Cache) whole(path string) bool {
	sealed, err := os.ReadFile(c.sealOf(path))
	if err != nil {
		return false
	}
	now, err := measure(path)
	return err == nil && now == string(sealed)
}

// measure gives size and time of every file of a tree, in the order of their paths.
func measure(path string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%d %d %s\n", info.Size(), info.ModTime().UnixNano(), strings.TrimPrefix(p, path))
		return nil
	})
	return b.String(), err
}

// taken notes that a part is in use, by the time of its seal. Where that can't be set it is made again after a while.
func (c *Cache) taken(path string) {
	_ = os.Chtimes(c.sealOf(path), time.Time{}, time.Now())
}

// unused is how long a part is kept that nobody takes.
const unused = 60 * 24 * time.Hour

// sweep removes what a build that was killed has left in tmp/, and parts that nobody takes any more. No build takes a day; downloads that broke off stay, to be resumed.
func (c *Cache) sweep() {
	seals := filepath.Join(c.dir, "seals")
	filepath.WalkDir(filepath.Join(seals, "parts"), func(seal string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if rel, wrong := filepath.Rel(seals, seal); err == nil && wrong == nil && time.Since(info.ModTime()) > unused {
			os.Remove(seal) // first: what has none is made again
			removeAll(filepath.Join(c.dir, rel))
		}
		return nil
	})
	entries, err := os.ReadDir(filepath.Join(c.dir, "tmp"))
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && time.Since(info.ModTime()) > 24*time.Hour {
			removeAll(filepath.Join(c.dir, "tmp", e.Name()))
		}
	}
}
