package remote

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// node answers SSH as a node does: a command is one of a few words.
type node struct {
	address string
	rows    atomic.Int64 // of the terminal, last
}

func serve(t *testing.T, host ssh.Signer, operator string) *node {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if operator != strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))+" grove-lab" {
			return nil, fmt.Errorf("not the operator's")
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	n := &node{address: l.Addr().String()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go n.greet(conn, config)
		}
	}()
	return n
}

func (n *node) greet(conn net.Conn, config *ssh.ServerConfig) {
	c, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		conn.Close()
		return
	}
	defer c.Close()
	go ssh.DiscardRequests(requests)
	for asked := range channels {
		channel, requests, err := asked.Accept()
		if err != nil {
			return
		}
		if asked.ChannelType() == "direct-tcpip" { // echoes to the end, whatever the port
			go ssh.DiscardRequests(requests)
			go func() { _, _ = io.Copy(channel, channel); channel.Close() }()
			continue
		}
		go n.session(channel, requests)
	}
}

func (n *node) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	for r := range requests {
		if r.WantReply {
			_ = r.Reply(true, nil)
		}
		switch r.Type {
		case "pty-req":
			var p struct {
				Term                         string
				Columns, Rows, Width, Height uint32
				Modes                        string
			}
			_ = ssh.Unmarshal(r.Payload, &p)
			n.rows.Store(int64(p.Rows))
		case "window-change":
			var p struct{ Columns, Rows, Width, Height uint32 }
			_ = ssh.Unmarshal(r.Payload, &p)
			n.rows.Store(int64(p.Rows))
		case "shell":
			go func() { _, _ = io.Copy(channel, channel); end(channel, 0) }()
		case "exec":
			var p struct{ Command string }
			_ = ssh.Unmarshal(r.Payload, &p)
			switch p.Command {
			case "both":
				fmt.Fprintln(channel, "out")
				fmt.Fprintln(channel.Stderr(), "err")
				end(channel, 7)
			case "killed":
				_, _ = channel.SendRequest("exit-signal", false, ssh.Marshal(struct {
					Name        string
					Core        bool
					Error, Lang string
				}{Name: "KILL"}))
				channel.Close()
			case "gone":
				channel.Close()
			case "ever": // says nothing
			}
		}
	}
}

func end(channel ssh.Channel, code uint32) {
	_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
	channel.Close()
}

func hostKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// up makes a folder with a lab that is up, of these nodes.
func up(t *testing.T, labs, name string, nodes ...string) (Run, *node) {
	t.Helper()
	dir := filepath.Join(labs, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	operator, err := NewKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := serve(t, hostKey(t), operator)
	r := Run{Dir: dir, Image: name + ".img"}
	for _, one := range nodes {
		r.Nodes = append(r.Nodes, Node{Name: one, SSH: n.address})
	}
	if err := r.Write(); err != nil {
		t.Fatal(err)
	}
	return r, n
}

func connect(t *testing.T, n *node, dir string, key ssh.Signer) (*ssh.Client, error) {
	t.Helper()
	conn, err := net.Dial("tcp", n.address)
	if err != nil {
		t.Fatal(err)
	}
	client, err := Dial(t.Context(), conn, dir, "db1", key)
	if err == nil {
		t.Cleanup(func() { client.Close() })
	}
	return client, err
}

func TestLabIsFoundByItsNode(t *testing.T) {
	labs := t.TempDir()
	if _, _, err := Find(t.Context(), labs, "db1"); err == nil || !strings.Contains(err.Error(), "no lab is up in "+labs) {
		t.Errorf("without a lab: %v", err)
	}
	dead := Run{Dir: filepath.Join(labs, "dead"), Nodes: []Node{{Name: "db1", SSH: "127.0.0.1:1"}}}
	_ = os.Mkdir(dead.Dir, 0o755)
	if err := dead.Write(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Find(t.Context(), labs, "db1"); err == nil || !strings.Contains(err.Error(), "no lab is up") {
		t.Errorf("one that was killed: %v", err)
	}
	one, n := up(t, labs, "one", "db1", "db2")
	if r, found, err := Find(t.Context(), labs, "db2"); err != nil || r.Dir != one.Dir || found.SSH != n.address {
		t.Errorf("got %+v, %+v, %v", r, found, err)
	}
	if _, _, err := Find(t.Context(), labs, "bd1"); err == nil || !strings.Contains(err.Error(), `no node is called "bd1" in the labs that are up, only db1, db2; did you mean`) {
		t.Errorf("a near name: %v", err)
	}
	up(t, labs, "two", "db1")
	if _, _, err := Find(t.Context(), labs, "db1"); err == nil || !strings.Contains(err.Error(), "2 labs that are up have a node db1") {
		t.Errorf("two labs: %v", err)
	}
}

func TestFilesOfALab(t *testing.T) {
	labs := t.TempDir()
	r, n := up(t, labs, "one", "db1")
	if _, err := connect(t, n, r.Dir, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{runFile, keyFile, knownFile} {
		if info, err := os.Stat(filepath.Join(r.Dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want it for its user alone", name, info, err)
		}
	}
	if err := Remove(r.Dir); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(r.Dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := Remove(r.Dir); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestLogIn(t *testing.T) {
	r, n := up(t, t.TempDir(), "one", "db1")
	if _, err := connect(t, n, r.Dir, hostKey(t)); err == nil || !strings.Contains(err.Error(), "log in to db1: ") {
		t.Errorf("with another key: %v", err)
	}
	for range 2 {
		if _, err := connect(t, n, r.Dir, nil); err != nil {
			t.Error(err)
		}
	}
	other := serve(t, hostKey(t), "")
	if _, err := connect(t, other, r.Dir, nil); err == nil || !strings.Contains(err.Error(), "its host key is another one than it was") {
		t.Errorf("another host key: %v", err)
	}
	deaf, _ := net.Listen("tcp", "127.0.0.1:0")
	defer deaf.Close()
	go func() { c, _ := deaf.Accept(); c.Close() }()
	if _, err := connect(t, &node{address: deaf.Addr().String()}, r.Dir, nil); err == nil || !strings.Contains(err.Error(), "nobody answers at its port 22") {
		t.Errorf("a node that takes no connection: %v", err)
	}
}

func TestCommand(t *testing.T) {
	r, n := up(t, t.TempDir(), "one", "db1")
	client, err := connect(t, n, r.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out, code, err := Command(t.Context(), client, "both"); len(out) != 8 || !strings.Contains(out, "out\n") || !strings.Contains(out, "err\n") || code != 7 || err != nil {
		t.Errorf("got %q, %d, %v", out, code, err)
	}
	if _, code, err := Command(t.Context(), client, "killed"); code != -1 || err != nil {
		t.Errorf("killed: got %d, %v", code, err)
	}
	if _, _, err := Command(t.Context(), client, "gone"); err == nil {
		t.Error("a session that just ends: got no error")
	}
	late, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := Command(late, client, "ever"); err != context.DeadlineExceeded {
		t.Errorf("got %v; want it late", err)
	}
}

func TestForwardedPort(t *testing.T) {
	r, n := up(t, t.TempDir(), "one", "db1")
	client, err := connect(t, n, r.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := Forward(ctx, client, port); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("open a way to port %d of the node", port)) {
		t.Errorf("a port that is taken: %v", err)
	}
	free.Close()
	if err := Forward(ctx, client, port); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		conn, err := net.Dial("tcp", free.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		sent := strings.Repeat("x", 300000)
		go func() { _, _ = io.WriteString(conn, sent); _ = conn.(*net.TCPConn).CloseWrite() }()
		if got, err := io.ReadAll(conn); err != nil || string(got) != sent {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
		conn.Close()
	}
}

func TestPersonAtATerminal(t *testing.T) {
	r, n := up(t, t.TempDir(), "one", "db1")
	client, err := connect(t, n, r.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var rows atomic.Int64
	rows.Store(24)
	in, typing := io.Pipe()
	var out bytes.Buffer
	done := make(chan int, 1)
	go func() {
		code, err := Talk(t.Context(), client, "", Person{In: in, Out: &out, Err: io.Discard, Term: "xterm", Size: func() (int, int) { return 80, int(rows.Load()) }})
		if err != nil {
			t.Error(err)
		}
		done <- code
	}()
	for _, want := range []int64{24, 50} {
		rows.Store(want)
		for deadline := time.Now().Add(20 * time.Second); n.rows.Load() != want; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the node has %d rows; want %d", n.rows.Load(), want)
			}
		}
	}
	fmt.Fprint(typing, "hello")
	typing.Close()
	if code := <-done; code != 0 || out.String() != "hello" {
		t.Errorf("got %d, %q", code, out.String())
	}
}
