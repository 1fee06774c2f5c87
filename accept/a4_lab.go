package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"grove/builder/artifact"
	"grove/builder/lab"
	"grove/builder/secrets"
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
	c := lab.Config{Image: lab.Image{Name: img.Name, Path: path, Lab: img.Board.Lab, Set: img.Settings.ReplicaSet}, Dir: filepath.Join(out, "lab"), Host: b.host}
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
func keys(ctx context.Context, b *bench) (string, error) {
	l, err := b.nodesOf(ctx, 3, func(c *lab.Config) {
		c.Nodes[2].Secrets = spec.Secrets{Key: "YW5vdGhlciBrZXk="}
	})
	if err != nil {
		return "", err
	}
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
func writesThroughFailures(ctx context.Context, b *bench) (string, error) {
	l, err := b.setOf(ctx, 3, nil)
	if err != nil {
		return "", err
	}
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

// noSecrets looks for the key, the operator's password and the agent's, which follows from the key, wherever they could have come to.
func noSecrets(ctx context.Context, b *bench) (string, error) {
	l, err := b.setOf(ctx, 3, nil)
	if err != nil {
		return "", err
	}
	defer l.Close(context.WithoutCancel(ctx))
	s, err := secrets.Read(l.Secrets())
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, []byte(s.Key))
	mac.Write([]byte("grove-agent"))
	hidden := map[string]string{"key": string(s.Key)[:60], "operator's password": string(s.Operator.Password), "agent's password": base64.RawURLEncoding.EncodeToString(mac.Sum(nil))}
	places := 0
	look := func(place string, text io.Reader) error {
		places++
		return absent(place, text, hidden)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(l.Dir())), "demo.*"))
	if err != nil || len(files) < 4 {
		return "", fmt.Errorf("the image's files are %v, %w", files, err)
	}
	for _, n := range l.Nodes() {
		files = append(files, n.Serial, fmt.Sprintf("/proc/%d/cmdline", n.PID), fmt.Sprintf("/proc/%d/environ", n.PID))
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		err = look(file, f)
		f.Close()
		if err != nil {
			return "", err
		}
	}
	for _, n := range l.Nodes() {
		for _, path := range []string{"/", "/status.json", "/metrics"} {
			r, err := http.Get("http://" + n.Page + path)
			if err != nil {
				return "", err
			}
			err = look(n.Name+path, r.Body)
			r.Body.Close()
			if err != nil {
				return "", err
			}
		}
		for _, command := range []string{"cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ", "cat /state/mongod/log/*", "cat /run/grove/*.conf /run/grove/*.json /run/grove/*.out", "dmesg", "ls -lR /run/grove /state/grove", "cat /state/grove/*.json"} {
			out, _, err := l.SSH(ctx, n.Name, command)
			if err == nil {
				err = look(n.Name+": "+command, strings.NewReader(out))
			}
			if err != nil {
				return "", err
			}
		}
	}
	if err := absent("the secrets' own file", must(os.Open(l.Secrets())), hidden); err == nil {
		return "", errors.New("BUG: the search does not find what is there")
	}
	for _, file := range []string{l.Secrets(), filepath.Join(l.Dir(), "db1.node.yaml")} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			return "", fmt.Errorf("%s has mode %v, %w", file, info.Mode(), err)
		}
	}
	return fmt.Sprintf("%d places looked at", places), nil
}

func must(f *os.File, err error) io.Reader {
	if err != nil {
		return strings.NewReader("")
	}
	return f
}

// absent reads in pieces that overlap by more than a secret's length.
func absent(place string, text io.Reader, hidden map[string]string) error {
	r := bufio.NewReaderSize(text, 1<<20)
	var piece []byte
	for {
		more := make([]byte, 1<<20)
		n, err := io.ReadFull(r, more)
		piece = append(piece[max(0, len(piece)-128):], more[:n]...)
		for name, secret := range hidden {
			if bytes.Contains(piece, []byte(secret)) {
				return fmt.Errorf("%s has the %s", place, name)
			}
		}
		if err != nil {
			return nil // its end, or a process that is gone
		}
	}
}

// setVerbs are the operator's, on a set of the lab.
func setVerbs(ctx context.Context, b *bench) (string, error) {
	l, err := b.setOf(ctx, 3, nil)
	if err != nil {
		return "", err
	}
	defer l.Close(context.WithoutCancel(ctx))
	out := filepath.Dir(filepath.Dir(l.Dir()))
	set := func(args ...string) result {
		return b.run(ctx, nil, append(append([]string{"set"}, args...), "-o", out)...)
	}
	first, err := gathered(ctx, l)
	if err != nil {
		return "", err
	}
	if err := set("status").wants(0, "rs0: primary "+first.Primary+":27017, 3 votes", "SECONDARY"); err != nil {
		return "", err
	}
	if err := set("remove", first.Primary).wants(4, first.Primary+":27017 is the primary; have it step down first: grove set stepdown"); err != nil {
		return "", err
	}
	if err := set("remove", "db9").wants(1, "db9 is no member of rs0; it has db1:27017, db2:27017, db3:27017"); err != nil {
		return "", err
	}
	if err := set("stepdown").wants(0, first.Primary+":27017 has stepped down"); err != nil {
		return "", err
	}
	second, err := gathered(ctx, l)
	if err != nil || second.Primary == first.Primary {
		return "", fmt.Errorf("%s is primary again, %w", second.Primary, err)
	}
	gone := second.Secondaries[0]
	removed := set("remove", gone)
	if err := removed.wants(0, gone+" is out; take it out of replica_set.members too", "rs0 has 2 votes now, an even number", "2 votes"); err != nil {
		return "", err
	}
	i := slices.IndexFunc(l.Nodes(), func(n lab.Status) bool { return n.Name == gone })
	if err := onPage(ctx, l, i, "the node was taken out of rs0"); err != nil {
		return "", err
	}
	rest := slices.DeleteFunc(slices.Clone(second.Secondaries), func(name string) bool { return name == gone })
	if err := l.Kill(second.Primary); err != nil {
		return "", err
	}
	if err := alone(ctx, func() error {
		return set("remove", rest[0]).wants(1, "rs0 has no primary now, and only a primary can do this")
	}); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s stepped down for %s; %s taken out, and says so", first.Primary, second.Primary, gone), nil
}

// alone waits until it holds: a secondary notices after 10 s that its primary is gone.
func alone(ctx context.Context, holds func() error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := holds()
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
}

// setFigures is from QEMU's start to a set that is whole, on two processors for all.
func setFigures(ctx context.Context, b *bench) (string, error) {
	var told []string
	for _, n := range []int{1, 3, 5} {
		r := b.run(ctx, nil, "lab", "test", "demo", "--nodes", fmt.Sprint(n), "--within", "3m", "-o", b.folder("figures"), "--json")
		var v struct {
			Set   struct{ After time.Duration }
			Nodes []struct {
				Times struct{ Kernel, Init, Mongod, Answer time.Duration }
			}
		}
		if r.code != 0 || json.Unmarshal([]byte(r.out[strings.Index(r.out, "\n{")+1:]), &v) != nil {
			return "", fmt.Errorf("%d nodes: exit code %d: %s", n, r.code, r.out)
		}
		var kernel, init, mongod, answer time.Duration
		for _, one := range v.Nodes {
			kernel, init, mongod, answer = max(kernel, one.Times.Kernel), max(init, one.Times.Init), max(mongod, one.Times.Mongod), max(answer, one.Times.Answer)
		}
		told = append(told, fmt.Sprintf("%d nodes: whole after %.1f s: the last kernel started at %.1f, its init at %.1f, mongod at %.1f, answered at %.1f; then %.1f s of founding, joining, initial sync and votes",
			n, v.Set.After.Seconds(), kernel.Seconds(), init.Seconds(), mongod.Seconds(), answer.Seconds(), (v.Set.After-answer).Seconds()))
	}
	return strings.Join(told, "\n"), nil
}
