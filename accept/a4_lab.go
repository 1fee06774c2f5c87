package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"grove/builder/artifact"
	"grove/builder/lab"
	"grove/internal/spec"
)

// setOf boots nodes of the demo, db1 to dbN, and waits until they are a set. change, if it is not nil, is for the configuration before.
func (b *bench) setOf(ctx context.Context, n int, change func(*lab.Config)) (*lab.Lab, error) {
	l, err := b.nodesOf(ctx, n, change)
	if err != nil {
		return nil, err
	}
	if err = l.Wait(ctx); err == nil {
		_, err = gathered(ctx, l)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(context.WithoutCancel(ctx)))
	}
	return l, nil
}

func (b *bench) nodesOf(ctx context.Context, n int, change func(*lab.Config)) (*lab.Lab, error) {
	out := b.folder("set")
	if r := b.run(ctx, nil, "build", "demo", "-o", out); r.code != 0 {
		return nil, fmt.Errorf("grove build demo: exit code %d: %s", r.code, r.out)
	}
	path := filepath.Join(out, "demo.img")
	a, err := artifact.Open(path)
	if err != nil {
		return nil, err
	}
	var img spec.Image
	if err := json.Unmarshal(a.Manifest.Spec, &img); err != nil {
		return nil, err
	}
	c := lab.Config{Image: lab.Image{Name: img.Name, Path: path, Arch: img.Board.Arch, Lab: img.Board.Lab, Set: img.Settings.ReplicaSet}, Dir: filepath.Join(out, "lab"), Host: b.host}
	for i := range n {
		c.Nodes = append(c.Nodes, spec.Personal{Hostname: fmt.Sprintf("db%d", i+1)})
	}
	if change != nil {
		change(&c)
	}
	return lab.Up(ctx, c)
}

func gathered(ctx context.Context, l *lab.Lab) (lab.Gathered, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	return l.Gather(ctx)
}

// onPage waits until the set on a node's status page says this.
func onPage(ctx context.Context, l *lab.Lab, node int, words string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	last := ""
	for ctx.Err() == nil {
		var s struct {
			Set struct{ Text string }
		}
		if _, text, err := (site{l.Nodes()[node].Page}).get(ctx, "GET", "/status.json"); err == nil && json.Unmarshal([]byte(text), &s) == nil {
			if last = s.Set.Text; strings.Contains(last, words) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return fmt.Errorf("the page of %s says %q of the set; want %q", l.Nodes()[node].Name, last, words)
}

// keys makes one node's key another, mends that, and then opens a keyFile to everybody.
func keys(ctx context.Context, b *bench) (figure string, err error) {
	l, err := b.nodesOf(ctx, 3, func(c *lab.Config) {
		c.Nodes[2].Secrets = spec.Secrets{Key: "YW5vdGhlciBrZXk="}
	})
	if err != nil {
		return "", err
	}
	defer func() { err = blamed(err, l.Dir()) }()
	defer l.Close(context.WithoutCancel(ctx))
	if err := l.Wait(ctx); err != nil {
		return "", err
	}
	const differs = "it does not take this node's secrets.key, so the two differ"
	if err := onPage(ctx, l, 0, "db3 says that it is in no set, which is not proven: "+differs); err != nil {
		return "", err
	}
	if err := l.Kill("db3"); err != nil {
		return "", err
	}
	right, err := os.ReadFile(filepath.Join(l.Dir(), "db1.node.yaml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(l.Dir(), "db3.node.yaml"), bytes.Replace(right, []byte("hostname: db1\n"), []byte("hostname: db3\n"), 1), 0o600)
	}
	if err == nil {
		err = l.Start(ctx, "db3")
	}
	if err == nil {
		err = l.Wait(ctx)
	}
	if err != nil {
		return "", err
	}
	if _, err := gathered(ctx, l); err != nil {
		return "", err
	}
	if _, _, err := l.SSH(ctx, "db2", "chmod 644 /run/grove/mongod.key; kill -9 $(cat /run/grove/mongod.pid)"); err != nil {
		return "", err
	}
	if _, err := gathered(ctx, l); err != nil {
		return "", err
	}
	out, _, err := l.SSH(ctx, "db2", "ls -l /run/grove/mongod.key")
	if err != nil || !strings.HasPrefix(out, "-r--------") {
		return "", fmt.Errorf("the keyFile is %s, %w", out, err)
	}
	return "db1's page: " + differs + "; mended by its node.yaml; a keyFile of mode 0644: mongod came back with one of 0400", nil
}

const writing = 10 * time.Minute

// writesThroughFailures cuts the power of one node after the other.
func writesThroughFailures(ctx context.Context, b *bench) (figure string, err error) {
	l, err := b.setOf(ctx, 3, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = blamed(err, l.Dir()) }()
	defer l.Close(context.WithoutCancel(ctx))
	w := &steadyWriter{lab: l, last: time.Now()}
	writes, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() { w.run(writes); close(done) }()
	failures, primaries := 0, 0
	for began := time.Now(); time.Since(began) < writing; failures++ {
		set, err := gathered(ctx, l)
		if err != nil {
			return "", err
		}
		node := fmt.Sprintf("db%d", 1+failures%3)
		if node == set.Primary {
			primaries++
		}
		if err := l.Reset(ctx, node); err != nil {
			return "", err
		}
		if err := l.Wait(ctx); err != nil {
			return "", err
		}
	}
	stop()
	<-done
	set, err := gathered(ctx, l)
	if err != nil {
		return "", err
	}
	for _, node := range append([]string{set.Primary}, set.Secondaries...) {
		if err := w.all(ctx, node); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d writes acknowledged by a majority, all there on each node, through %d power cuts, %d of them of the primary; the longest time without one %.1f s", len(w.marks), failures, primaries, w.gap.Seconds()), nil
}

// steadyWriter writes to whoever is primary.
type steadyWriter struct {
	lab   *lab.Lab
	next  int
	marks []string // acknowledged
	last  time.Time
	gap   time.Duration
}

func (w *steadyWriter) run(ctx context.Context) {
	for ctx.Err() == nil {
		for _, n := range w.lab.Nodes() {
			s, err := w.lab.Writer(n.Name)
			if err != nil {
				return
			}
			one, cancel := context.WithTimeout(ctx, 5*time.Second)
			role, err := s.Role(one)
			cancel()
			if err != nil || !role.Primary {
				continue
			}
			_ = s.WriteAll(ctx, func() string { w.next++; return fmt.Sprintf("w%07d", w.next) }, func(mark string) {
				w.marks, w.gap, w.last = append(w.marks, mark), max(w.gap, time.Since(w.last)), time.Now()
			})
		}
	}
}

// all waits until a node has every one of them; a secondary may be a moment behind.
func (w *steadyWriter) all(ctx context.Context, node string) error {
	s, err := w.lab.Writer(node)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		n, err := s.Marks(ctx, w.marks)
		if err == nil && n == int64(len(w.marks)) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("%s has %d of %d acknowledged documents", node, n, len(w.marks))
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}
