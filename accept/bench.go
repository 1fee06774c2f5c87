package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"grove/builder/lab"
	"grove/internal/host"
)

// bench is where the checks work: a folder that goes away, the grove command, and an image of the demo that is built when first asked for.
type bench struct {
	host  host.Real
	grove string
	dir   string
	solo  string
	card  string // the Nano's

	turn   sync.Mutex // held while an image of a layout is built
	images map[string]lab.Image

	recording sync.Mutex // held while disks of another node are recorded
	records   string     // the folder that they are in
}

func newBench(ctx context.Context) (*bench, error) {
	dir, err := os.MkdirTemp("", "accept-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, grove: filepath.Join(dir, "grove"), images: map[string]lab.Image{}}
	_, err = b.host.Run(ctx, host.Command{Path: "go", Args: []string{"build", "-trimpath", "-o", b.grove, "./builder"}, Env: []string{"CGO_ENABLED=0"}})
	return b, err
}

func (b *bench) close() { os.RemoveAll(b.dir) }

// folder makes a fresh one.
func (b *bench) folder(name string) string {
	dir, err := os.MkdirTemp(b.dir, name+"-")
	if err != nil {
		panic(err)
	}
	return dir
}

// result is how a command ended.
type result struct {
	out  string // both streams
	code int
	took time.Duration
}

func (b *bench) command(env []string, args ...string) host.Command {
	return host.Command{Path: b.grove, Args: args, Env: env}
}

// run runs grove with an environment beside the caller's.
func (b *bench) run(ctx context.Context, env []string, args ...string) result {
	return b.program(ctx, b.command(env, args...))
}

func (b *bench) program(ctx context.Context, c host.Command) result {
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	start := time.Now()
	_, err := b.host.Run(ctx, c)
	r := result{out: out.String(), took: time.Since(start)}
	var exit *host.Exit
	switch {
	case errors.As(err, &exit):
		r.code = exit.Code
	case err != nil:
		r.code, r.out = -1, r.out+err.Error()
	}
	return r
}

// image is the demo's, built once.
func (b *bench) image(ctx context.Context) (string, error) {
	if b.solo != "" {
		return b.solo, nil
	}
	out := filepath.Join(b.dir, "out")
	if r := b.run(ctx, nil, "build", "solo", "-o", out); r.code != 0 {
		return "", fmt.Errorf("grove build solo: exit code %d: %s", r.code, r.out)
	}
	b.solo = filepath.Join(out, "solo.img")
	return b.solo, nil
}

// recipe writes one into a folder of its own: the demo's with words replaced, pairs of old and new.
func (b *bench) recipe(pairs ...string) (string, error) {
	data, err := os.ReadFile("recipes/solo.yaml")
	if err != nil {
		return "", err
	}
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(string(data), pairs[i]) {
			return "", fmt.Errorf("recipes/solo.yaml has no %q", pairs[i])
		}
	}
	file := filepath.Join(b.folder("recipe"), "solo.yaml")
	return file, os.WriteFile(file, []byte(strings.NewReplacer(pairs...).Replace(string(data))), 0o644)
}

func sum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// wants is an error unless the result has this exit code and every one of the words.
func (r result) wants(code int, words ...string) error {
	if r.code != code {
		return fmt.Errorf("exit code %d; want %d: %s", r.code, code, r.out)
	}
	for _, w := range words {
		if !strings.Contains(r.out, w) {
			return fmt.Errorf("no %q in: %s", w, r.out)
		}
	}
	return nil
}
