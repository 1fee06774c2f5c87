package filesystem

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/host"
	"grove/internal/size"
)

func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func state(sz size.Size) Ext4 {
	return Ext4{Label: "grove-state", UUID: "11111111-2222-8333-8444-555555555555", Time: 1700000000, Size: sz}
}

func makeExt4(t *testing.T, e Ext4) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "state")
	run(t, e.Environment(), "mke2fs", e.Arguments(file)...)
	return file
}

func TestExt4IsCleanSparseAndTheSameTwice(t *testing.T) {
	for _, sz := range []size.Size{32 * size.MiB, 64 * size.MiB, 600 * size.MiB} {
		file, again := makeExt4(t, state(sz)), makeExt4(t, state(sz))
		// Before anything reads it: Linux counts what was read of an allocated hole as data.
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		data, err := host.Real{}.Extents(f)
		if err != nil {
			t.Fatal(err)
		}
		var bytes int64
		for _, e := range data {
			bytes += e.Size
		}
		if info, err := f.Stat(); err != nil || info.Size() != int64(sz) || bytes > 2<<20 {
			t.Errorf("%s: file has %d bytes, %d of them data, %v; want at most 2 MiB of data", sz, info.Size(), bytes, err)
		}
		run(t, nil, "e2fsck", "-fn", file)
		run(t, nil, "cmp", file, again)
	}
}

func TestExt4GrowsTo300GiB(t *testing.T) {
	file := makeExt4(t, state(64*size.MiB))
	if err := os.Truncate(file, int64(300*size.GiB)); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "resize2fs", file)
	run(t, nil, "e2fsck", "-fn", file)
	if features := run(t, nil, "dumpe2fs", "-h", file); strings.Contains(features, "meta_bg") || !strings.Contains(features, "resize_inode") {
		t.Errorf("want the layout kept:\n%s", features)
	}
}

// TestExt4UsedIsWhatDumpe2fsSays compares with the free blocks that dumpe2fs lists for each group.
func TestExt4UsedIsWhatDumpe2fsSays(t *testing.T) {
	for _, sz := range []size.Size{64 * size.MiB, 300 * size.MiB, 5 * size.GiB} {
		file := makeExt4(t, state(sz))
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		used, err := Ext4Used(f)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		at := int64(0)
		for _, p := range append(used, Piece{Start: int64(sz)}) {
			for p.Start > at { // dumpe2fs lists each group of 32768 blocks by itself
				end := min(p.Start, (at/(32768*4096)+1)*32768*4096)
				got = append(got, fmt.Sprintf("%d-%d", at/4096, end/4096-1))
				at = end
			}
			at = p.Start + p.Size
		}
		var want []string
		for _, m := range regexp.MustCompile(`(?m)^  Free blocks: (.*)$`).FindAllStringSubmatch(run(t, nil, "dumpe2fs", file), -1) {
			if m[1] != "" {
				want = append(want, strings.Split(m[1], ", ")...)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", sz, diff)
		}
	}
}

func TestExt4UsedRefusesWhatIsNoExt4(t *testing.T) {
	for _, b := range [][]byte{nil, make([]byte, 1<<20)} {
		if got, err := Ext4Used(bytes.NewReader(b)); err == nil {
			t.Errorf("got %v, want an error", got)
		}
	}
}

func TestSquashfsIsTheSameTwiceWithAllFiles(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 200 {
		name := fmt.Sprintf("d%d/file-%03d", i%7, i)
		os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte(name), i), 0o644); err != nil {
			t.Fatal(err)
		}
		want = append(want, "squashfs-root/"+name)
	}
	for _, s := range []Squashfs{{"zstd", 6, 128 * size.KiB, 1700000000, 0}, {"lz4", 0, size.MiB, 1700000000, 1}, {"xz", 0, 128 * size.KiB, 1700000000, 2}} {
		out := t.TempDir()
		run(t, nil, "mksquashfs", s.Arguments(dir, out+"/a")...)
		s.Processors = 1
		run(t, nil, "mksquashfs", s.Arguments(dir, out+"/b")...)
		run(t, nil, "cmp", out+"/a", out+"/b")
		list := run(t, nil, "unsquashfs", "-l", out+"/a") + "\n"
		for _, name := range want {
			if !strings.Contains(list, name+"\n") {
				t.Errorf("%s: unsquashfs lacks %s", s.Compression, name)
			}
		}
		if info := run(t, nil, "unsquashfs", "-s", out+"/a"); !strings.Contains(info, "Xattrs are not stored") && !strings.Contains(info, "Number of xattr ids 0") {
			t.Errorf("%s: %s", s.Compression, info)
		}
	}
}
