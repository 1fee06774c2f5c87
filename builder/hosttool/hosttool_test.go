package hosttool

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"grove/builder/cache"
	"grove/builder/debian"
	"grove/builder/debian/debiantest"
	"grove/builder/fetch"
	"grove/internal/host"
	"grove/internal/spec"
	"grove/internal/step"
)

// The loader of this mirror is a script that tells how it was called.
func mirror(t *testing.T) (*debiantest.Mirror, debian.Client) {
	t.Helper()
	p, known := platforms[Arch()]
	if !known {
		t.Fatalf("Debian has nothing for this machine")
	}
	m := debiantest.New(t)
	own := string(Arch())
	m.Publish("trixie",
		debiantest.Package{Name: "e2fsprogs", Version: "1.47.2-3", Arch: own, Depends: "libc6, logsave", Files: map[string]string{"sbin/mke2fs": "program", "etc/mke2fs.conf": "conf", "usr/share/doc/e2fsprogs/copyright": "text"}},
		debiantest.Package{Name: "squashfs-tools", Version: "1:4.6.1-1", Arch: own, Depends: "libc6 (>= 2.38)", Files: map[string]string{"usr/bin/mksquashfs": "program"}},
		debiantest.Package{Name: "grub-common", Version: "2.12-9", Arch: own, Depends: "libc6, gettext-base, libefiboot1 | grub-x", Files: map[string]string{"usr/bin/grub-mkimage": "program"}},
		debiantest.Package{Name: "grub-pc-bin", Version: "2.12-9", Arch: "amd64", Depends: "grub-common, nothing-else", Files: map[string]string{"usr/lib/grub/i386-pc/boot.img": "boot", "usr/lib/grub/i386-pc/monolithic/x.img": "large"}},
		debiantest.Package{Name: "grub-efi-amd64-bin", Version: "2.12-9", Arch: "amd64", Files: map[string]string{"usr/lib/grub/x86_64-efi/fat.mod": "fat"}},
		debiantest.Package{Name: "libc6", Version: "2.41-12", Arch: own, Files: map[string]string{
			"usr/lib/" + p.triplet + "/" + p.loader:             "#!/bin/sh\necho \"$@\"\nenv\n",
			"usr/lib/" + p.triplet + "/gconv/gconv-modules.old": "large",
		}},
		debiantest.Package{Name: "logsave", Version: "1", Arch: own},
	)
	m.Publish("trixie-updates")
	c, err := cache.Open(t.TempDir(), host.Real{})
	if err != nil {
		t.Fatal(err)
	}
	return m, debian.Client{
		Origin:  debian.Origin{Suite: "trixie", Arch: Arch(), Mirror: m.URL, Keyrings: []string{m.Keyring}},
		Fetcher: &fetch.Fetcher{Cache: c, Pause: time.Millisecond},
	}
}

func choose(t *testing.T, c debian.Client, arch spec.Arch) []debian.Package {
	t.Helper()
	x, err := c.Index(t.Context(), step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	image := c
	image.Origin.Arch = spec.AMD64
	y, err := image.Index(t.Context(), step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	packages, err := Packages(x, y, arch)
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

func TestPackages(t *testing.T) {
	_, c := mirror(t)
	for arch, want := range map[spec.Arch][]string{
		spec.AMD64: {"e2fsprogs", "grub-common", "grub-efi-amd64-bin", "grub-pc-bin", "libc6", "squashfs-tools"},
		spec.ARMHF: {"e2fsprogs", "libc6", "squashfs-tools"},
	} {
		var got []string
		for _, p := range choose(t, c, arch) {
			got = append(got, p.Name)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("for %s: %s", arch, d)
		}
	}
}

func TestAProgramRunsThroughItsOwnLoader(t *testing.T) {
	_, c := mirror(t)
	tools, out, err := Open(t.Context(), c, choose(t, c, spec.AMD64), step.Silent{})
	if err != nil || out.Reused {
		t.Fatalf("%v, %+v", err, out)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1")
	command, err := tools.Command("mke2fs", "-q", "file")
	if err != nil {
		t.Fatal(err)
	}
	printed, err := host.Real{}.Run(t.Context(), command)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(strings.ReplaceAll(string(printed), tools.root, "TREE")) {
		if !strings.HasPrefix(line, "_=") && !strings.HasPrefix(line, "PWD=") && !strings.HasPrefix(line, "SHLVL=") && !strings.HasPrefix(line, "OLDPWD=") { // the shell's own
			got = append(got, strings.TrimSpace(line))
		}
	}
	library := "TREE/usr/lib/" + tools.platform.triplet
	want := []string{"--inhibit-cache --library-path " + library + " TREE/usr/sbin/mke2fs -q file",
		"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "MKE2FS_CONFIG=TREE/etc/mke2fs.conf"}
	if d := cmp.Diff(sorted(want), sorted(got)); d != "" {
		t.Error(d)
	}
	if _, err := tools.Command("mkfs.btrfs"); err == nil || !strings.Contains(err.Error(), "mkfs.btrfs") {
		t.Errorf("a program that there is not: got %v", err)
	}
}

func sorted(lines []string) map[string]int {
	set := map[string]int{}
	for _, line := range lines {
		set[line]++
	}
	return set
}

func TestOnlyWhatRunsIsKept(t *testing.T) {
	_, c := mirror(t)
	tools, _, err := Open(t.Context(), c, choose(t, c, spec.AMD64), step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	library := "usr/lib/" + tools.platform.triplet
	for rel, want := range map[string]bool{
		"usr/lib/grub/i386-pc/boot.img": true, "usr/lib/grub/x86_64-efi/fat.mod": true, "usr/sbin/mke2fs": true, "etc/mke2fs.conf": true,
		"usr/lib/grub/i386-pc/monolithic": false, "usr/share": false, library + "/gconv": false,
	} {
		if _, err := os.Stat(tools.Path(rel)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %t", rel, err, want)
		}
	}
}

func TestPinnedToolsNeedNoMirror(t *testing.T) {
	m, c := mirror(t)
	packages := choose(t, c, spec.AMD64)
	if _, err := c.Fetch(t.Context(), packages, step.Silent{}); err != nil {
		t.Fatal(err)
	}
	m.Asked()
	c.Fetcher = &fetch.Fetcher{Cache: c.Fetcher.Cache, Offline: true}
	tools, _, err := Open(t.Context(), c, packages, step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(len(packages), len(tools.Packages())); d != "" || m.Asked() != nil {
		t.Errorf("%s, or the mirror was asked", d)
	}
	if _, out, err := Open(t.Context(), c, packages, step.Silent{}); err != nil || !out.Reused {
		t.Errorf("a second time: %+v, %v", out, err)
	}
}

func TestPackagesWithoutALoaderAreRefused(t *testing.T) {
	_, c := mirror(t)
	var packages []debian.Package
	for _, p := range choose(t, c, spec.ARMHF) {
		if p.Name != "libc6" {
			packages = append(packages, p)
		}
	}
	if _, _, err := Open(t.Context(), c, packages, step.Silent{}); err == nil || !strings.Contains(err.Error(), "the packages hold no loader") {
		t.Errorf("got %v", err)
	}
}
