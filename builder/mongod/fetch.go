package mongod

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"grove/builder/fetch"
	"grove/internal/host"
	"grove/internal/spec"
	"grove/internal/step"
)

// fetch gives the source's file in the cache, its hash checked. What the cache has is asked of nobody again.
func (s *Store) fetch(ctx context.Context, from spec.Source, count step.Counter) (string, error) {
	if file, found := s.Cache.Blob(from.SHA256); found {
		return file, nil
	}
	address := from.URL
	if strings.Contains(from.Deb, "://") {
		address = from.Deb
	}
	switch {
	case address != "":
		paths, err := s.Files.Get(ctx, []fetch.Item{{URL: address, SHA256: from.SHA256, Name: path.Base(address)}}, count)
		if err != nil {
			return "", err
		}
		return paths[0], nil
	case from.Wheel != "":
		return s.wheel(ctx, from)
	}
	return s.Cache.Take(ctx, from.File+from.Deb, from.SHA256) // so that the image can be built again when the file is gone
}

// A wheel may come over a slow line, but pip must not hang for ever.
const pipTime = 30 * time.Minute

// wheel asks the machine's own pip, and so its configured index.
func (s *Store) wheel(ctx context.Context, from spec.Source) (string, error) {
	if s.Offline {
		return "", fmt.Errorf("%s: %w", from.Name(), fetch.ErrOffline)
	}
	dir, clean, err := s.Cache.Temp("wheel")
	if err != nil {
		return "", err
	}
	defer clean()
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	command, found := pip(s.Host.Look, from, dir)
	if !found {
		return "", fmt.Errorf("fetch %s: %w", from.Name(), errNoPip)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pipTime, fmt.Errorf("pip was not done after %s", pipTime))
	defer cancel()
	if _, err := s.Host.Run(ctx, command); err != nil {
		var exit *host.Exit
		if errors.As(err, &exit) && strings.Contains(exit.Output, "No module named pip") {
			err = errNoPip
		}
		return "", fmt.Errorf("fetch %s: %w", from.Name(), err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("fetch %s: have %d wheels from pip, want 1", from.Name(), len(files))
	}
	kept, err := s.Cache.Keep(files[0], from.SHA256)
	if err != nil {
		return "", fmt.Errorf("%s: %w", from.Name(), err)
	}
	return kept, nil
}

var errNoPip = errors.New("there is no pip on this machine; scripts/setup-host installs it")

// pip is the command that puts the wheel, and nothing else, into dir.
func pip(look func(string) string, from spec.Source, dir string) (host.Command, bool) {
	c := host.Command{Args: []string{"download", "--quiet", "--no-deps", "--only-binary=:all:", "--platform", from.Platform, "-d", dir, from.Wheel},
		Env: []string{"PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1"}}
	for _, name := range []string{"pip3", "pip"} {
		if c.Path = look(name); c.Path != "" {
			return c, true
		}
	}
	c.Path = look("python3")
	c.Args = append([]string{"-m", "pip"}, c.Args...)
	return c, c.Path != ""
}
