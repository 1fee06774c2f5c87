package initramfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"grove/builder/cache"
	"grove/internal/host"
	"grove/internal/spec"
)

// Source is Grove's own module with the Go that builds it: what runs in the node is compiled for each image's architecture.
type Source struct {
	Dir     string // holds go.mod
	Go      string // the go command
	Version string // such as go1.26.8
	host    host.Host
}

var (
	moduleLine = regexp.MustCompile(`(?m)^module grove$`)
	goLine     = regexp.MustCompile(`(?m)^go (\S+)$`)
)

// FindSource looks for the module in GROVE_SOURCE, or else in the folders of starts and those above, and for a go command that is new enough for it.
func FindSource(ctx context.Context, h host.Host, starts ...string) (Source, error) {
	dir, gomod, err := findModule(starts)
	if err != nil {
		return Source{}, err
	}
	s := Source{Dir: dir, Go: h.Look("go"), host: h}
	want := "go" + string(goLine.FindSubmatch(gomod)[1])
	if s.Go == "" {
		return Source{}, fmt.Errorf("find Go: there is no go in PATH; the agent and the commands of a node are built with %s or newer, see https://go.dev/dl", want)
	}
	// GOTOOLCHAIN=local: an old Go shall say so, not download a newer one.
	out, err := h.Run(ctx, host.Command{Path: s.Go, Args: []string{"env", "GOVERSION"}, Dir: os.TempDir(), Env: []string{"GOTOOLCHAIN=local"}})
	if err != nil {
		return Source{}, fmt.Errorf("ask Go for its version: %w", err)
	}
	if s.Version = strings.TrimSpace(string(out)); version.Compare(s.Version, want) < 0 {
		return Source{}, fmt.Errorf("use %s: have %s, want %s or newer", s.Go, s.Version, want)
	}
	return s, nil
}

func findModule(starts []string) (dir string, gomod []byte, err error) {
	if named := os.Getenv("GROVE_SOURCE"); named != "" {
		if gomod, err = os.ReadFile(filepath.Join(named, "go.mod")); err != nil || !isGrove(gomod) {
			return "", nil, fmt.Errorf("find Grove's source: GROVE_SOURCE=%s holds no go.mod of the module grove", named)
		}
		dir, err = filepath.Abs(named)
		return dir, gomod, err
	}
	for _, start := range starts {
		if dir, err = filepath.Abs(start); err != nil {
			return "", nil, err
		}
		for ; ; dir = filepath.Dir(dir) {
			if gomod, err = os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && isGrove(gomod) {
				return dir, gomod, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", nil, errors.New("find Grove's source: no go.mod of the module grove here or above; the agent is built from it: run grove inside its repository or set GROVE_SOURCE")
}

func isGrove(gomod []byte) bool { return moduleLine.Match(gomod) && goLine.Match(gomod) }

// target is the environment that makes go build for an architecture, whatever the caller's own settings are.
type target []string

func targetOf(arch spec.Arch) (target, error) {
	// Not an empty GOFLAGS: Go would then take those of go env -w.
	common := target{"CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOEXPERIMENT=", "GOTOOLCHAIN=local", "GOPACKAGESDRIVER=off"}
	switch arch {
	case spec.AMD64:
		return append(common, "GOARCH=amd64", "GOAMD64=v1"), nil
	case spec.ARM64:
		return append(common, "GOARCH=arm64", "GOARM64=v8.0"), nil
	case spec.ARMHF: // Debian's armhf is ARMv7 with VFPv3-D16
		return append(common, "GOARCH=arm", "GOARM=7"), nil
	}
	return nil, fmt.Errorf("BUG: no Go target for the architecture %q", arch)
}

// inputs are what decides, besides sources, over the bytes of a program.
func (s Source) inputs(t target) []cache.Input {
	return []cache.Input{{Name: "Go's version", Value: s.Version}, {Name: "architecture", Value: strings.Join(t, " ")}, {Name: "layout", Value: layout}}
}

// flags make the bytes independent of where and from which commit they were built.
var flags = []string{"-trimpath", "-buildvcs=false"}

// build links a program of the module in dir; what names it by path or pattern, with further flags before.
func (s Source) build(ctx context.Context, dir string, t target, to string, what ...string) error {
	args := slices.Concat([]string{"build"}, flags, []string{"-ldflags", "-s -w -buildid=", "-o", to}, what)
	_, err := s.host.Run(ctx, host.Command{Path: s.Go, Args: args, Dir: dir, Env: t})
	return err
}

// hash gives one input a folder: the names and contents of all its files, without tests. go.mod and go.sum stand for all else that is compiled in.
func (s Source) hash(folders ...string) ([]cache.Input, error) {
	var inputs []cache.Input
	for _, folder := range append(folders, "go.mod", "go.sum") {
		sum := sha256.New()
		err := filepath.WalkDir(filepath.Join(s.Dir, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if !d.Type().IsRegular() || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			data, err := os.ReadFile(path)
			fmt.Fprintf(sum, "%s %d\n", strings.TrimPrefix(path, s.Dir), len(data))
			sum.Write(data)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read Grove's source: %w", err)
		}
		inputs = append(inputs, cache.Input{Name: folder, Value: hex.EncodeToString(sum.Sum(nil))})
	}
	return inputs, nil
}
