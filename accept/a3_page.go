package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"grove/builder/lab"
)

// a3Page: a node as a person and a program see it.
func a3Page() []check {
	return []check{
		{name: "a3.7", says: "the page, /healthz, /status.json and /metrics of a node: no script, no request elsewhere, below 100 KB, the agent below 40 MiB after 200 answers", within: 8 * time.Minute, beside: true, run: pageOfNode},
		{name: "a3.7.chromium", says: "Chromium shows the page, whose own policy has no script run, and nothing of it is wider than a phone or a desk", within: 8 * time.Minute, beside: true, run: pageInChromium,
			notCI: unless(chromium() != "", "chromium is not on the PATH")},
	}
}

// site is a node's page as a client of the lab's machine reaches it.
type site struct{ address string }

func (b *bench) pageNode(ctx context.Context, look func(context.Context, *rig, site) (string, error)) (string, error) {
	c, err := b.config(ctx, "bios", "virtio")
	if err != nil {
		return "", err
	}
	return inLab(ctx, c, "db1", func(ctx context.Context, r *rig) (string, error) {
		if err := r.lab.Wait(ctx); err != nil {
			return "", err
		}
		s := site{r.lab.Nodes()[0].Page}
		if err := s.serving(ctx); err != nil {
			return "", err
		}
		return look(ctx, r, s)
	})
}

// serving waits until the node itself has seen its mongod answer, which may be a moment after the lab has.
func (s site) serving(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the node does not serve within a minute"))
	defer cancel()
	for {
		if _, text, err := s.get(ctx, "GET", "/status.json"); err != nil || strings.Contains(text, `"phase": "serving"`) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// get asks until the node answers: its page opens a moment after mongod may have.
func (s site) get(ctx context.Context, method, path string) (r *http.Response, text string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("no answer within a minute"))
	defer cancel()
	for {
		var q *http.Request
		if q, err = http.NewRequestWithContext(ctx, method, "http://"+s.address+path, nil); err != nil {
			return nil, "", err
		}
		if r, err = http.DefaultClient.Do(q); err == nil {
			data, err := io.ReadAll(r.Body)
			r.Body.Close()
			return r, string(data), err
		}
		select {
		case <-ctx.Done():
			return nil, "", fmt.Errorf("%s %s: %w: %w", method, path, context.Cause(ctx), err)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func pageOfNode(ctx context.Context, b *bench) (string, error) {
	return b.pageNode(ctx, func(ctx context.Context, r *rig, s site) (string, error) {
		bytes, err := s.quiet(ctx)
		if err == nil {
			err = s.programs(ctx, r.lab.Nodes()[0])
		}
		if err != nil {
			return "", err
		}
		rss, err := s.load(ctx)
		return fmt.Sprintf("%d bytes of page; the agent has %.1f MiB", bytes, float64(rss)/(1<<20)), err
	})
}

// loads is what a browser would run, or fetch.
var loads = regexp.MustCompile(`(?i)<script|<link|<img|<iframe|<form|javascript:|\son[a-z]+=|(src|href)="?(https?:|//|data:)|@import|url\(`)

func (s site) quiet(ctx context.Context) (bytes int, err error) {
	r, text, err := s.get(ctx, "GET", "/")
	if err != nil {
		return 0, err
	}
	for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'; style-src 'sha256-", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
		if got := r.Header.Get(name); !strings.HasPrefix(got, want) {
			return 0, fmt.Errorf("%s is %q; want %q", name, got, want)
		}
	}
	if found := loads.FindString(text); found != "" || len(text) >= 100_000 || r.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s, %d bytes, with %q", r.Status, len(text), found)
	}
	for _, want := range []string{`<meta name="viewport"`, `<h1>db1 <span class="badge good">serving</span></h1>`, "vm.swappiness", "10.5.0.11/24", "mongod.log"} {
		if !strings.Contains(text, want) {
			return 0, fmt.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	return len(text), nil
}

// programs asks as they do.
func (s site) programs(ctx context.Context, node lab.Status) error {
	for _, c := range []struct {
		method, path string
		code         int
		has          []string
	}{
		{"GET", "/healthz", 200, []string{"ok\n"}},
		{"GET", "/status.json", 200, []string{`"node": "` + node.Name + `"`, `"phase": "serving"`}},
		{"GET", "/metrics", 200, []string{"\nmongodb_up 1\n", "\nnode_load1 ", "\nnode_memory_MemTotal_bytes ", `node_cpu_seconds_total{cpu="0",mode="idle"}`, `mountpoint="/state"`, "\ngrove_clock_synced "}},
		{"POST", "/", 405, nil},
		{"GET", "/etc/passwd", 404, nil},
	} {
		r, text, err := s.get(ctx, c.method, c.path)
		if err != nil {
			return err
		}
		if r.StatusCode != c.code {
			return fmt.Errorf("%s %s: %s: %s", c.method, c.path, r.Status, text)
		}
		for _, want := range c.has {
			if !strings.Contains(text, want) {
				return fmt.Errorf("%s lacks %q:\n%s", c.path, want, text)
			}
		}
	}
	return nil
}

// load asks many times, and gives the agent's memory after that.
func (s site) load(ctx context.Context) (rss int64, err error) {
	for range 50 {
		for _, path := range []string{"/", "/metrics", "/status.json", "/healthz"} {
			r, text, err := s.get(ctx, "GET", path)
			if err == nil && r.StatusCode != http.StatusOK {
				err = fmt.Errorf("%s: %s: %s", path, r.Status, text)
			}
			if err != nil {
				return 0, err
			}
		}
	}
	_, text, err := s.get(ctx, "GET", "/status.json")
	if err != nil {
		return 0, err
	}
	var now struct {
		Agent struct {
			RSS int64 `json:"rss"`
		} `json:"agent"`
	}
	if err := json.Unmarshal([]byte(text), &now); err != nil {
		return 0, err
	}
	if rss = now.Agent.RSS; rss == 0 || rss > 40<<20 {
		err = fmt.Errorf("the agent has %d bytes; want at most 40 MiB", rss)
	}
	return rss, err
}
