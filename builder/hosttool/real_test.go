//go:build real

// These tests take the true tools from the mirror of the host's apt settings: go test -tags real ./builder/hosttool

package hosttool

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"grove/builder/cache"
	"grove/builder/debian"
	"grove/builder/fetch"
	"grove/internal/host"
	"grove/internal/spec"
	"grove/internal/step"
)

// TestTheToolsOfTrixie runs the image's programs on whatever this machine is; their work is judged by this machine's own.
func TestTheToolsOfTrixie(t *testing.T) {
	tools := open(t)
	run := func(t *testing.T, name string, env []string, args ...string) string {
		t.Helper()
		command, err := tools.Command(name, args...)
		if err != nil {
			t.Fatal(err)
		}
		command.Env = append(command.Env, env...)
		out, err := host.Real{}.Run(t.Context(), command)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	judge := func(t *testing.T, name string, args ...string) string {
		t.Helper()
		path := host.Real{}.Look(name)
		if path == "" {
			t.Fatalf("%s is missing: run scripts/setup-host", name)
		}
		out, err := host.Real{}.Run(t.Context(), host.Command{Path: path, Args: args, Env: []string{"LC_ALL=C"}})
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	tree, out := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(tree, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "a/b/file"), bytes.Repeat([]byte("grove "), 100_000), 0o644); err != nil {
		t.Fatal(err)
	}

	t.Run("every library comes from the tree", func(t *testing.T) {
		for _, name := range []string{"mksquashfs", "mke2fs", "e2fsck", "grub-mkimage"} {
			command, err := tools.Command(name)
			if err != nil {
				t.Fatal(err)
			}
			command.Args = append([]string{"--list"}, command.Args...)
			listed, err := host.Real{}.Run(t.Context(), command)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(listed)) {
				if !strings.Contains(line, "=> "+tools.root+"/") && !strings.Contains(line, "linux-vdso") {
					t.Errorf("%s: %s", name, strings.TrimSpace(line))
				}
			}
		}
	})
	t.Run("mksquashfs", func(t *testing.T) {
		file := filepath.Join(out, "x.squashfs")
		run(t, "mksquashfs", nil, tree, file, "-quiet", "-no-progress", "-all-root", "-all-time", "0", "-mkfs-time", "0", "-comp", "zstd")
		if got := judge(t, "unsquashfs", "-l", file); !strings.Contains(got, "squashfs-root/a/b/file") {
			t.Errorf("unsquashfs -l: %s", got)
		}
	})
	t.Run("mke2fs, from a folder", func(t *testing.T) {
		var made [2][]byte
		for i := range made {
			file := filepath.Join(out, "x.ext4")
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			run(t, "mke2fs", []string{"E2FSPROGS_FAKE_TIME=1700000000"}, "-q", "-t", "ext4", "-U", "00000000-0000-4000-8000-000000000001",
				"-E", "hash_seed=00000000-0000-4000-8000-000000000002,root_owner=0:0", "-d", tree, file, "32m")
			// orphan_file and metadata_csum_seed are newer than some hosts' e2fsck; the judge is the tools' own then.
			run(t, "e2fsck", nil, "-fn", file)
			var err error
			if made[i], err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(made[0], made[1]) {
			t.Error("two runs differ")
		}
	})
	for platform, start := range map[string]string{"i386-pc": "\x52\x56", "x86_64-efi": "MZ"} {
		t.Run("grub-mkimage for "+platform, func(t *testing.T) {
			file := filepath.Join(out, platform)
			run(t, "grub-mkimage", nil, "-d", tools.Path("usr/lib/grub/"+platform), "-O", platform, "-o", file, "-p", "/grub", "part_gpt", "fat", "normal", "linux", "configfile")
			data, err := os.ReadFile(file)
			if err != nil || !bytes.HasPrefix(data, []byte(start)) || len(data) < 100_000 {
				t.Errorf("%d bytes starting % x, %v; want at least 100000 starting % x", len(data), data[:min(2, len(data))], err, start)
			}
		})
	}
}

func open(t *testing.T) *Tools {
	t.Helper()
	c, err := cache.Open(t.TempDir(), host.Real{})
	if err != nil {
		t.Fatal(err)
	}
	origin, err := debian.Discover(spec.Debian{Suite: "trixie"}, Arch())
	if err != nil {
		t.Fatal(err)
	}
	client := debian.Client{Origin: origin, Fetcher: &fetch.Fetcher{Cache: c}}
	start := time.Now()
	own, err := client.Index(t.Context(), step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	index := time.Since(start)
	forImage := client
	forImage.Origin.Arch = spec.AMD64
	image, err := forImage.Index(t.Context(), step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	packages, err := Packages(own, image, spec.AMD64)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Fetch(t.Context(), packages, step.Silent{}); err != nil {
		t.Fatal(err)
	}
	start = time.Now()
	tools, _, err := Open(t.Context(), client, packages, step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("index %s, extracting %d packages %s; warnings %q", index.Round(time.Millisecond), len(packages), time.Since(start).Round(time.Millisecond), own.Warnings)
	return tools
}
