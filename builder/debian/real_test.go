//go:build real

// These tests read the mirror of the host's apt settings: go test -tags real ./builder/debian

package debian

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"grove/builder/cache"
	"grove/builder/debian/deb"
	"grove/builder/fetch"
	"grove/internal/host"
	"grove/internal/spec"
	"grove/internal/step"
)

func TestTheHostsMirror(t *testing.T) {
	c, err := cache.Open(t.TempDir(), host.Real{})
	if err != nil {
		t.Fatal(err)
	}
	roots := map[spec.Arch]string{spec.AMD64: "linux-image-cloud-amd64", spec.ARMHF: "linux-image-armmp"}
	for arch, kernel := range roots {
		t.Run(string(arch), func(t *testing.T) {
			origin, err := Discover(spec.Debian{Suite: "trixie"}, arch)
			if err != nil {
				t.Fatal(err)
			}
			client := Client{Origin: origin, Fetcher: &fetch.Fetcher{Cache: c}}
			start := time.Now()
			x, err := client.Index(t.Context(), step.Silent{})
			if err != nil {
				t.Fatal(err)
			}
			cold := time.Since(start)
			warm := time.Hour
			for range 5 {
				start = time.Now()
				if x, err = client.Index(t.Context(), step.Silent{}); err != nil {
					t.Fatal(err)
				}
				warm = min(warm, time.Since(start))
			}
			packages, err := x.Closure([]string{"mdadm", "lvm2", "xfsprogs", "libssl3t64", "libcurl4t64", kernel}, []string{"initramfs-tools", "linux-base", "debconf", "udev"})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("index cold %s, warm %s; closure of %d packages; warnings %q", cold.Round(time.Millisecond), warm.Round(100*time.Microsecond), len(packages), x.Warnings)
			if warm > 100*time.Millisecond {
				t.Errorf("a warm index takes %s, want at most 100 ms", warm)
			}
			if len(packages) < 40 || len(packages) > 120 {
				t.Errorf("closure of %d packages, want some 80: %v", len(packages), names(packages))
			}
		})
	}
}

func TestAPackageOfTheHostsMirror(t *testing.T) {
	c, err := cache.Open(t.TempDir(), host.Real{})
	if err != nil {
		t.Fatal(err)
	}
	origin, err := Discover(spec.Debian{Suite: "trixie"}, spec.AMD64)
	if err != nil {
		t.Fatal(err)
	}
	client := Client{Origin: origin, Fetcher: &fetch.Fetcher{Cache: c}}
	x, err := client.Index(t.Context(), step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	packages, err := x.Closure([]string{"libc6"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := client.Fetch(t.Context(), packages, step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	into := t.TempDir()
	for _, file := range files {
		if err := deb.Unpack(t.Context(), file, into, nil); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"usr/lib/x86_64-linux-gnu/libc.so.6", "usr/lib/x86_64-linux-gnu/libgcc_s.so.1", "usr/lib64/ld-linux-x86-64.so.2"} {
		if _, err := os.Stat(filepath.Join(into, name)); err != nil {
			t.Error(err)
		}
	}
}
