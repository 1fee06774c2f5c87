package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"grove/internal/host"
)

// a3Push: a node's figures, judged by Prometheus itself, and what is kept of them.
func a3Push() []check {
	return []check{
		{name: "a3.7.figures", says: "promtool finds no fault with /metrics; samples outlive the agent and a restart of the node, and are drawn on the page", within: 12 * time.Minute, beside: true, run: judged},
		{name: "a3.7.mongod", says: "a real mongod gives every figure that is asked of it, and one that wants a login is asked once", within: 6 * time.Minute, beside: true,
			run: withMongod("./firstboot/metrics", "Mongod", "TestEveryFigureOfARealMongod")},
		{name: "a3.7.push", says: "a real Prometheus takes what is sent by remote write; through a proxy, with a receiver that is away, busy or refuses", within: 4 * time.Minute, beside: true, run: pushed},
	}
}

// prometheus gives a folder with Debian's prometheus and promtool. They are taken out of the package: it is not to be installed, as it would start a server.
func (b *bench) prometheus(ctx context.Context) (string, error) {
	dir := b.folder("prometheus")
	if r := b.program(ctx, host.Command{Path: "apt-get", Args: []string{"download", "prometheus"}, Dir: dir}); r.code != 0 {
		return "", fmt.Errorf("apt-get download prometheus: %s", r.out)
	}
	found, err := filepath.Glob(filepath.Join(dir, "prometheus_*.deb"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("apt-get download prometheus: got %q: %w", found, err)
	}
	_, err = b.tool(ctx, "dpkg-deb", "-x", found[0], dir)
	return filepath.Join(dir, "usr/bin"), err
}

func pushed(ctx context.Context, b *bench) (string, error) {
	dir, err := b.prometheus(ctx)
	if err != nil {
		return "", err
	}
	r := b.program(ctx, host.Command{Path: "go", Args: []string{"test", "-count=1", "-v", "./firstboot/push"}, Env: []string{"GROVE_TEST_PROMETHEUS=" + filepath.Join(dir, "prometheus")}})
	if r.code != 0 || strings.Contains(r.out, "--- SKIP") || !strings.Contains(r.out, "--- PASS: TestPrometheusTakesIt") {
		return "", errors.New(r.out)
	}
	return fmt.Sprintf("%d tests", strings.Count(r.out, "\n--- PASS: ")), nil
}

func judged(ctx context.Context, b *bench) (string, error) {
	tools, err := b.prometheus(ctx)
	if err != nil {
		return "", err
	}
	return b.pageNode(ctx, func(ctx context.Context, r *rig, s site) (string, error) {
		lint, err := b.promtool(ctx, tools, s)
		if err != nil {
			return "", err
		}
		if _, err := s.samples(ctx, 2, 1); err != nil {
			return "", err
		}
		if _, err := r.sh(ctx, "kill -9 $(cat /run/grove/agent.pid)"); err != nil {
			return "", err
		}
		if _, err := s.samples(ctx, 3, 1); err != nil {
			return "", fmt.Errorf("after the agent's death: %w", err)
		}
		if err := r.again(ctx); err != nil {
			return "", err
		}
		kept, err := s.samples(ctx, 4, 2)
		if err != nil {
			return "", fmt.Errorf("after a restart of the node: %w", err)
		}
		_, text, err := s.get(ctx, "GET", "/")
		if n := strings.Count(text, "<figure>"); err != nil || n != 6 || len(text) >= 100_000 {
			return "", fmt.Errorf("%d figures on a page of %d bytes, %w", n, len(text), err)
		}
		return fmt.Sprintf("%s; %d samples of 2 boots; the page with its figures has %d bytes", lint, kept, len(text)), nil
	})
}

// kernels are words of promtool's about names that are the kernel's own; node_exporter, whose names these are, passes over them as well (its checkmetrics.sh).
var kernels = regexp.MustCompile(`^node_(memory|netstat)_`)

func (b *bench) promtool(ctx context.Context, tools string, s site) (string, error) {
	_, text, err := s.get(ctx, "GET", "/metrics")
	if err != nil {
		return "", err
	}
	r := b.program(ctx, host.Command{Path: filepath.Join(tools, "promtool"), Args: []string{"check", "metrics"}, Stdin: strings.NewReader(text)})
	var faults []string
	for line := range strings.Lines(r.out) {
		if !kernels.MatchString(line) && strings.TrimSpace(line) != "" {
			faults = append(faults, line)
		}
	}
	const lint = 3 // its exit code when it has something to say of names
	if len(faults) > 0 || r.code != 0 && r.code != lint {
		file := filepath.Join(b.dir, "metrics.txt")
		return "", fmt.Errorf("promtool: exit code %d: %s; the metrics are in %s: %w", r.code, strings.Join(faults, ""), file, os.WriteFile(file, []byte(text), 0o600))
	}
	return fmt.Sprintf("%d metrics", strings.Count(text, "\n# TYPE ")), nil
}

// samples waits until the node has so many, of so many boots.
func (s site) samples(ctx context.Context, want, boots int) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 4*time.Minute, errors.New("not within 4 minutes"))
	defer cancel()
	for {
		r, text, err := s.get(ctx, "GET", "/samples.json")
		if err != nil {
			return 0, err
		}
		var all []struct {
			Time int64  `json:"t"`
			Boot string `json:"boot"`
		}
		if r.StatusCode == 200 {
			if err := json.Unmarshal([]byte(text), &all); err != nil {
				return 0, fmt.Errorf("%w in %s", err, text)
			}
		}
		seen := map[string]bool{}
		for i, one := range all {
			if seen[one.Boot] = true; i > 0 && one.Time <= all[i-1].Time {
				return 0, fmt.Errorf("sample %d is not later than the one before: %s", i, text)
			}
		}
		if len(all) >= want && len(seen) >= boots {
			return len(all), nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%d samples of %d boots, want %d of %d: %w", len(all), len(seen), want, boots, context.Cause(ctx))
		case <-time.After(5 * time.Second):
		}
	}
}
