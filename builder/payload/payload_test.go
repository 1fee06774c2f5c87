package payload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/diag"
	"grove/internal/host"
	"grove/internal/step"
)

func TestSystem(t *testing.T) {
	d := newDebian(t)
	s, out, err := Build(t.Context(), open(t), request(t, d), step.Silent{})
	if err != nil || out.Reused {
		t.Fatalf("got %+v, %v; want it made", out, err)
	}
	t.Run("unsquashfs lists the same files", func(t *testing.T) {
		if diff := cmp.Diff(lines(s.Files), unsquashed(t, s.Squashfs)); diff != "" {
			t.Errorf("lists differ (-ours +unsquashfs's):\n%s", diff)
		}
	})
	t.Run("it holds what it should and nothing else", func(t *testing.T) {
		has := map[string]File{}
		for _, f := range s.Files {
			has[f.Path] = f
		}
		for _, name := range []string{"bin/mongod", "bin/mount", "sbin/swapon", "lib/modules/index.json", "share/doc/mongod/LICENSE", "share/doc/libc6/copyright"} {
			if has[name].Size == 0 {
				t.Errorf("%s is not in it", name)
			}
		}
		if has["sbin/swap"].Link != "swapon" {
			t.Errorf("the link to a program is not in it")
		}
		for _, name := range []string{"bin/script", "lib/" + filepath.Base(libraryDir()) + "/libunneeded.so.1"} {
			if _, found := has[name]; found {
				t.Errorf("%s is in it", name)
			}
		}
		if mode := has["bin/mount"].Mode; mode != 0o755 {
			t.Errorf("mode of mount is %o; want 755: no set-user-ID", mode)
		}
		if slices.Contains(d.opened, "unneeded") || slices.Contains(s.Packages, "unneeded") {
			t.Errorf("a package that nobody needs was opened: %v", d.opened)
		}
	})
	t.Run("its programs start with its own loader and libraries", func(t *testing.T) {
		root := filepath.Join(t.TempDir(), "usr")
		run(t, "unsquashfs", "-q", "-n", "-d", root, s.Squashfs)
		libraries := filepath.Join(root, strings.TrimPrefix(libraryDir(), "usr/"))
		loader, err := filepath.Glob(filepath.Join(root, "lib*", "ld-linux*"))
		if more, _ := filepath.Glob(filepath.Join(libraries, "ld-linux*")); err != nil || len(loader)+len(more) == 0 {
			t.Fatalf("no loader in %s: %v", root, err)
		} else {
			loader = append(loader, more...)
		}
		for _, program := range []string{"bin/mongod", "bin/mount", "sbin/swapon"} {
			run(t, loader[0], "--inhibit-cache", "--library-path", libraries, filepath.Join(root, program), "--version")
		}
	})
}

// lines writes files as unsquashed does.
func lines(files []File) (all []string) {
	for _, f := range files {
		line := fmt.Sprintf("%04o %s", f.Mode, f.Path)
		switch {
		case f.Link != "":
			line = f.Path + " -> " + f.Link
		case !strings.HasSuffix(f.Path, "/"):
			line = fmt.Sprintf("%s %d", line, f.Size)
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

// unsquashed asks the reference tool. A line of it: `-rwxr-xr-x 0/0    68760 2025-01-01 00:00 /bin/mount`.
func unsquashed(t *testing.T, file string) (all []string) {
	t.Helper()
	for line := range strings.Lines(run(t, "unsquashfs", "-lln", "-d", "", "-UTC", file)) {
		words := strings.Fields(line)
		if len(words) < 6 || len(words[0]) != 10 || words[5] == "/" {
			continue
		}
		if words[1] != "0/0" || words[3] != "2025-01-01" || words[4] != "00:00" {
			t.Errorf("%q: want owner 0/0 and the image's time", line)
		}
		path := strings.TrimPrefix(words[5], "/")
		switch words[0][0] {
		case 'd':
			all = append(all, fmt.Sprintf("%04o %s/", bits(words[0]), path))
		case 'l':
			all = append(all, path+" -> "+words[7])
		default:
			all = append(all, fmt.Sprintf("%04o %s %s", bits(words[0]), path, words[2]))
		}
	}
	slices.Sort(all)
	return all
}

func bits(letters string) (mode int) {
	for _, l := range letters[1:] {
		mode <<= 1
		if l != '-' {
			mode |= 1
		}
	}
	return mode
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("%s is not on this machine; run scripts/setup-host", name)
	}
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func TestSameInputsGiveTheSameBytes(t *testing.T) {
	d := newDebian(t)
	r := request(t, d)
	first, _, err := Build(t.Context(), open(t), r, step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Umask(syscall.Umask(0o077))
	t.Setenv("SOURCE_DATE_EPOCH", "1")
	r.Image.Name = "of another name"
	slices.Reverse(r.Packages)
	second, _, err := Build(t.Context(), open(t), r, step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	a, errA := os.ReadFile(first.Squashfs)
	b, errB := os.ReadFile(second.Squashfs)
	if err := errors.Join(errA, errB); err != nil || !bytes.Equal(a, b) {
		t.Errorf("another cache, name, order, umask and environment: %d and %d bytes differ (%v)", len(a), len(b), err)
	}
}

func TestMadeAgainOnlyWhenSomethingChanged(t *testing.T) {
	d, c := newDebian(t), open(t)
	r := request(t, d)
	if _, _, err := Build(t.Context(), c, r, step.Silent{}); err != nil {
		t.Fatal(err)
	}
	opened := len(d.opened)
	if _, out, err := Build(t.Context(), c, r, step.Silent{}); err != nil || !out.Reused || len(d.opened) != opened {
		t.Errorf("nothing changed: got %+v, %v, opened %d more", out, err, len(d.opened)-opened)
	}
	r.Modules.Key = "k2"
	if _, out, err := Build(t.Context(), c, r, step.Silent{}); err != nil || out.Reused || out.Why != "kernel modules changed" {
		t.Errorf("other modules: got %+v, %v", out, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*testing.T, *debian, *Request)
		want   string
	}{
		{"a library's package is not there", func(t *testing.T, d *debian, r *Request) {
			r.Packages = slices.DeleteFunc(r.Packages, func(p Package) bool { return p.Name == "libmount1" })
		}, "bin/mount: needs libmount.so.1, which is not on the library path; look for it in the Debian package libmount1 or libmount1t64; so do 3 more files"},
		{"a program became a script", func(t *testing.T, d *debian, r *Request) {
			d.packages["mount"]["usr/bin/mount"] = "##!/bin/sh"
		}, "bin/mount of package mount is a script, for which the system has no shell"},
		{"a program was renamed", func(t *testing.T, d *debian, r *Request) {
			delete(d.packages["mount"], "usr/sbin/losetup")
		}, "package mount of trixie has no losetup"},
		{"a virtual package", func(t *testing.T, d *debian, r *Request) {
			r.Image.Packages = append(r.Image.Packages, "awk")
		}, "package awk is not among those that were fetched; if it is a virtual one, name the package itself"},
		{"a device among the files", func(t *testing.T, d *debian, r *Request) {
			if err := syscall.Mkfifo(filepath.Join(r.Modules.Folder, "pipe"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "put pipe into the system: it is a p---------, want a file or link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, cache := newDebian(t), open(t)
			r := request(t, d)
			c.change(t, d, &r)
			_, _, err := Build(t.Context(), cache, r, step.Silent{})
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v; want %s", err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(cache.Dir(), "tmp/*")); left != nil {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestFindingsComeAsFindings(t *testing.T) {
	d := newDebian(t)
	r := request(t, d)
	r.Packages = slices.DeleteFunc(r.Packages, func(p Package) bool { return p.Name == "libmount1" })
	r.Advise = func(soname string) string { return "bring " + soname }
	_, _, err := Build(t.Context(), open(t), r, step.Silent{})
	var found diag.Findings
	if !errors.As(err, &found) || len(found) != 1 || !strings.Contains(found[0].Text, "; bring libmount.so.1; ") {
		t.Errorf("got %v; want one finding with the advice", err)
	}
}

func TestARecipesOwnPackageComesWhole(t *testing.T) {
	d := newDebian(t)
	d.packages["htop"] = map[string]string{"usr/bin/htop": "/usr/bin/tar", "usr/libexec/htop/script": "##!/bin/sh", "usr/share/htop/x": "#x",
		"usr/share/doc/htop": "-> htop-data"}
	d.packages["htop-data"] = map[string]string{"usr/share/doc/htop-data/copyright": "#free"}
	r := request(t, d)
	r.Image.Packages = append(r.Image.Packages, "htop")
	s, _, err := Build(t.Context(), open(t), r, step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"bin/htop": true, "libexec/htop/script": true, "share/htop/x": false, "share/doc/htop-data/copyright": true} {
		if got := slices.ContainsFunc(s.Files, func(f File) bool { return f.Path == name }); got != want {
			t.Errorf("%s in it: got %v; want %v", name, got, want)
		}
	}
}

func TestInterrupted(t *testing.T) {
	d, c := newDebian(t), open(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := request(t, d)
	r.Unpack = func(ctx context.Context, deb, into string, want func(string) bool) error {
		cancel()
		return d.unpack(ctx, deb, into, want)
	}
	if _, _, err := Build(ctx, c, r, step.Silent{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want it to end", err)
	}
	if left, _ := filepath.Glob(filepath.Join(c.Dir(), "tmp/*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestSquashfsThatFails(t *testing.T) {
	r := request(t, newDebian(t))
	r.Host = &host.Fake{Programs: func(c host.Command) (string, error) {
		return "", &host.Exit{Command: "mksquashfs", Code: 1, Output: "No space left on device"}
	}}
	c := open(t)
	_, _, err := Build(t.Context(), c, r, step.Silent{})
	if err == nil || !strings.Contains(err.Error(), "No space left") {
		t.Errorf("got %v; want the tool's own words", err)
	}
	if made, _ := filepath.Glob(filepath.Join(c.Dir(), "parts/system/*")); made != nil {
		t.Errorf("a part was kept: %v", made)
	}
}
