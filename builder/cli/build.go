package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"grove/builder/artifact"
	"grove/builder/artifact/manifest"
	builder "grove/builder/build"
	"grove/builder/cache"
	"grove/builder/report"
	"grove/internal/host"
	"grove/internal/size"
)

// buildFlags are those of every verb that may have to build.
type buildFlags struct {
	out     string
	lock    string
	offline bool
	refresh bool
	packed  bool
	asJSON  bool
}

func (f *buildFlags) add(c *cobra.Command) {
	c.Flags().StringVarP(&f.out, "out", "o", "out", "folder for the image and what lies beside it")
	c.Flags().StringVar(&f.lock, "lock", "", "build the same bytes as an earlier build, by its `MANIFEST`")
	c.Flags().BoolVar(&f.offline, "offline", false, "use what the cache has and nothing else")
	c.Flags().BoolVar(&f.refresh, "refresh", false, "ask the mirror for its index even when the one at hand is less than an hour old")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON at the end")
}

func build() *cobra.Command {
	var f buildFlags
	c := &cobra.Command{Use: "build RECIPE", Short: "make the image", Args: cobra.ExactArgs(1),
		Long: "build makes OUT/NAME.img, NAME being the recipe's, and beside it NAME.manifest.json, NAME.spdx.json, NAME.bmap and NAME.sha256.\n" +
			"What was fetched or made before is taken from the cache: GROVE_CACHE, or grove in the user's cache folder.",
		RunE: func(c *cobra.Command, args []string) error {
			start := time.Now()
			r, err := makeImage(c.Context(), args[0], f, c.ErrOrStderr())
			if err != nil {
				return err
			}
			return writeBuilt(c.OutOrStdout(), r, f, time.Since(start))
		}}
	f.add(c)
	c.Flags().BoolVar(&f.packed, "zst", false, "write NAME.img.zst too")
	return c
}

// makeImage builds a recipe with progress on errs, so that standard output is free for what a program reads.
func makeImage(ctx context.Context, recipe string, f buildFlags, errs io.Writer) (builder.Result, error) {
	img, err := image(recipe)
	if err != nil {
		return builder.Result{}, err
	}
	if info, err := os.Stat(f.out); f.out == "" || err == nil && !info.IsDir() {
		return builder.Result{}, usage{fmt.Errorf("--out: want a folder, have %q", f.out)}
	}
	request := builder.Request{Image: img, Out: f.out, Offline: f.offline, Refresh: f.refresh, Packed: f.packed, Version: built(), Host: host.Real{}, Sources: sources()}
	if f.lock != "" {
		if request.Lock, err = readLock(f.lock); err != nil {
			return builder.Result{}, err
		}
	}
	dir, err := cache.Default()
	if err != nil {
		return builder.Result{}, err
	}
	if request.Cache, err = cache.Open(dir, request.Host); err != nil {
		return builder.Result{}, err
	}
	steps := report.Steps(errs)
	request.See = steps
	r, err := builder.Image(ctx, request)
	steps.Close()
	for _, w := range r.Warnings {
		fmt.Fprintln(errs, "warning:", w)
	}
	return r, err
}

// sources are the folders in and above which Grove's own module may lie: the current one, and that of the program.
func sources() []string {
	var dirs []string
	if dir, err := os.Getwd(); err == nil {
		dirs = append(dirs, dir)
	}
	if program, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(program))
	}
	return dirs
}

// readLock reads a manifest.
func readLock(file string) (*manifest.Manifest, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the lock: %w", err)
	}
	m, err := manifest.Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

// writeBuilt names what was made.
func writeBuilt(out io.Writer, r builder.Result, f buildFlags, took time.Duration) error {
	a := r.Artifact
	at := artifact.In(f.out, a.Manifest.Image)
	if !f.packed {
		at.Compressed = ""
	}
	if f.asJSON {
		return writeJSON(out, map[string]any{"files": at, "sha256": a.Manifest.Digest.SHA256, "size": int64(a.Size), "reused": r.Reused, "warnings": r.Warnings, "seconds": took.Seconds()})
	}
	var mapped size.Size
	for _, p := range a.Mapped() {
		mapped += size.Size(p.Size)
	}
	state := "built in"
	if r.Reused {
		state = "nothing changed, seen in"
	}
	beside := "manifest.json, .spdx.json, .bmap, .sha256"
	if f.packed {
		beside += ", .img.zst"
	}
	_, err := fmt.Fprintf(out, "%s: %s, %s of data, sha256 %s, %s %.1f s; beside it .%s\n", at.Image, a.Size, mapped.Short(), a.Manifest.Digest.SHA256[:16], state, took.Seconds(), beside)
	return err
}
