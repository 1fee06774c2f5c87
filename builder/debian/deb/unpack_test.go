package deb

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

func dir(name string, mode int64) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: mode}
}
func file(name string, mode int64) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(name))}
}
func link(name, to string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to, Mode: 0o777}
}
func hard(name, to string) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: to}
}

// pack writes a .deb whose files hold their own names.
func pack(t *testing.T, ending string, entries ...tar.Header) string {
	t.Helper()
	var data bytes.Buffer
	var z io.WriteCloser
	var err error
	switch ending {
	case ".gz":
		z = gzip.NewWriter(&data)
	case ".xz":
		z, err = xz.NewWriter(&data)
	case ".zst":
		z, err = zstd.NewWriter(&data)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, h := range entries {
		h.Format = tar.FormatGNU
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, h.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []io.Closer{w, z} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var deb bytes.Buffer
	deb.WriteString("!<arch>\n")
	for _, m := range []struct {
		name string
		data []byte
	}{{"debian-binary", []byte("2.0\n")}, {"control.tar.xz", []byte("odd")}, {"data.tar" + ending, data.Bytes()}} {
		fmt.Fprintf(&deb, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, 0, 0, 0, "100644", len(m.data))
		deb.Write(m.data)
		if len(m.data)%2 == 1 {
			deb.WriteByte('\n')
		}
	}
	path := filepath.Join(t.TempDir(), "x.deb")
	if err := os.WriteFile(path, deb.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// tree lists what is below a folder: mode, path, target or content.
func tree(t *testing.T, root string) (lines []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := info.Mode().String() + " " + strings.TrimPrefix(path, root+"/")
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " -> " + to
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + string(data)
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestUnpack(t *testing.T) {
	rows := []struct {
		name    string
		entries []tar.Header
		only    string // prefix of what is wanted
		want    []string
	}{
		{"folders, files, modes", []tar.Header{dir("./", 0o755), dir("./usr/", 0o755), dir("./usr/bin/", 0o555), file("./usr/bin/su", 0o4755), file("./etc/shadow", 0o640)}, "",
			[]string{"drwxr-xr-x etc", "-rw-r----- etc/shadow ./etc/shadow", "drwxr-xr-x usr", "dr-xr-xr-x usr/bin", "urwxr-xr-x usr/bin/su ./usr/bin/su"}},
		{"a tree from before the merge", []tar.Header{dir("./lib/", 0o755), dir("./lib/x/", 0o755), file("./lib/x/libm.so.6.1", 0o644), link("./lib/x/libm.so.6", "libm.so.6.1"), file("./sbin/mke2fs", 0o755), link("./lib64/ld.so", "/lib/x/ld.so")}, "",
			[]string{"drwxr-xr-x usr", "drwxr-xr-x usr/lib", "drwxr-xr-x usr/lib/x", "Lrwxrwxrwx usr/lib/x/libm.so.6 -> libm.so.6.1", "-rw-r--r-- usr/lib/x/libm.so.6.1 ./lib/x/libm.so.6.1",
				"drwxr-xr-x usr/lib64", "Lrwxrwxrwx usr/lib64/ld.so -> /lib/x/ld.so", "drwxr-xr-x usr/sbin", "-rwxr-xr-x usr/sbin/mke2fs ./sbin/mke2fs"}},
		{"the links of the merge themselves", []tar.Header{link("./lib", "usr/lib"), link("./bin", "usr/bin"), file("./usr/lib/a", 0o644)}, "",
			[]string{"drwxr-xr-x usr", "drwxr-xr-x usr/lib", "-rw-r--r-- usr/lib/a ./usr/lib/a"}},
		{"hard links, devices", []tar.Header{file("./bin/perl", 0o755), hard("./usr/bin/perl5", "./bin/perl"), {Name: "./dev/null", Typeflag: tar.TypeChar}}, "",
			[]string{"drwxr-xr-x usr", "drwxr-xr-x usr/bin", "-rwxr-xr-x usr/bin/perl ./bin/perl", "-rwxr-xr-x usr/bin/perl5 ./bin/perl"}},
		{"only what is wanted, in folders with their own modes", []tar.Header{dir("./usr/share/doc/", 0o755), file("./usr/share/doc/a", 0o644), dir("./usr/lib/", 0o711), file("./usr/lib/b", 0o644)}, "usr/lib/",
			[]string{"drwxr-xr-x usr", "drwx--x--x usr/lib", "-rw-r--r-- usr/lib/b ./usr/lib/b"}},
		{"a later entry in place of an earlier", []tar.Header{file("./etc/a", 0o644), link("./etc/a", "b"), link("./etc/c", "nowhere"), file("./etc/c", 0o600)}, "",
			[]string{"drwxr-xr-x etc", "Lrwxrwxrwx etc/a -> b", "-rw------- etc/c ./etc/c"}},
		{"through a link that stays within the tree", []tar.Header{dir("./usr/share/real/", 0o755), link("./usr/share/alias", "real"), dir("./usr/share/alias/", 0o755), file("./usr/share/alias/f", 0o644)}, "",
			[]string{"drwxr-xr-x usr", "drwxr-xr-x usr/share", "Lrwxrwxrwx usr/share/alias -> real", "drwxr-xr-x usr/share/real", "-rw-r--r-- usr/share/real/f ./usr/share/alias/f"}},
	}
	for i, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			into := t.TempDir()
			var want func(string) bool
			if row.only != "" {
				want = func(path string) bool { return strings.HasPrefix(path, row.only) }
			}
			if err := Unpack(t.Context(), pack(t, []string{".xz", ".gz", ".zst"}[i%3], row.entries...), into, want); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(row.want, tree(t, into)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNothingIsWrittenOutsideOfTheTree(t *testing.T) {
	for name, entries := range map[string][]tar.Header{
		"two dots":                       {file("./../evil", 0o644)},
		"two dots behind a folder":       {file("usr/../../evil", 0o644)},
		"an absolute path":               {file("/evil", 0o644)},
		"through a link out":             {link("./out", "../"), file("./out/evil", 0o644)},
		"through an absolute link":       {link("./out", "/tmp"), file("./out/evil", 0o644)},
		"a folder through a link out":    {link("./out", "../"), dir("./out/evil/", 0o755)},
		"a link placed through a link":   {link("./out", "../"), link("./out/evil", "x")},
		"a hard link to a file outside":  {hard("./evil", "../secret")},
		"a hard link through a link out": {link("./out", "../"), hard("./evil", "./out/secret")},
	} {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			into := filepath.Join(outside, "tree")
			if err := os.Mkdir(into, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Unpack(t.Context(), pack(t, ".gz", entries...), into, nil); err == nil {
				t.Error("no error")
			} else if !strings.Contains(err.Error(), "evil") {
				t.Errorf("got %v, want the entry named", err)
			}
			for _, path := range []string{filepath.Join(outside, "evil"), "/evil", "/tmp/evil"} {
				if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
}

func TestFaultyPackages(t *testing.T) {
	good, err := os.ReadFile(pack(t, ".xz", file("./a", 0o644)))
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		data []byte
		want string
	}{
		"no package":    {[]byte("#!/bin/sh\n"), "no Debian package"},
		"empty":         {nil, "no Debian package"},
		"cut short":     {good[:len(good)-20], "unpack"},
		"without data":  {good[:150], "find data.tar"},
		"another suite": {bytes.Replace(good, []byte("data.tar.xz "), []byte("data.tar.zz "), 1), `".zz" is a compression that is not known`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.deb")
			if err := os.WriteFile(path, row.data, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := Unpack(t.Context(), path, t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestUnpackStopsWhenTold(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped by the user")
	cancel(stop)
	if err := Unpack(ctx, pack(t, ".xz", file("./a", 0o644)), t.TempDir(), nil); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}
