package debian

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"grove/builder/debian/release"
	"grove/builder/fetch"
)

// place is where something about a suite of a mirror stays between builds.
func (c Client) place(s suite, what string) (string, error) {
	dir, err := c.Fetcher.Cache.State("debian")
	mirror := sha256.Sum256([]byte(s.mirror))
	return filepath.Join(dir, fmt.Sprintf("%s-%x.%s", s.name, mirror[:8], what)), err
}

// kept reads the last verified release and how long ago the mirror was asked.
func (c Client) kept(keys release.Keyring, s suite) (*release.Release, time.Duration, error) {
	file, err := c.place(s, "InRelease")
	if err != nil {
		return nil, fresh, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, fresh, fmt.Errorf("release of %s: %w", s.name, fetch.ErrOffline)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fresh, err
	}
	r, err := release.Read(text, keys)
	return r, time.Since(info.ModTime()), err
}

func (c Client) keep(s suite, text []byte) error { return c.put(s, "InRelease", text) }

func (c Client) put(s suite, what string, text []byte) error {
	file, err := c.place(s, what)
	if err != nil {
		return err
	}
	temp, clean, err := c.Fetcher.Cache.Temp("release")
	if err != nil {
		return err
	}
	defer clean()
	if err := os.WriteFile(temp, text, 0o644); err != nil {
		return err
	}
	return os.Rename(temp, file)
}

// lacking is what kept an optional suite out less than an hour ago: a mirror that lacks it is not asked three times for each build.
func (c Client) lacking(s suite) string {
	file, err := c.place(s, c.missing())
	if err != nil {
		return ""
	}
	info, err := os.Stat(file)
	if err != nil || time.Since(info.ModTime()) > fresh {
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(text)
}

// found forgets what kept a suite out.
func (c Client) found(s suite) error {
	file, err := c.place(s, c.missing())
	if err != nil {
		return err
	}
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// missing is the name of the note; a suite may be whole for one architecture and not for another.
func (c Client) missing() string { return "without-" + string(c.Origin.Arch) }
