package rotate

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"grove/internal/host"
	"grove/internal/size"
	"grove/internal/spec"
)

// A real mongod, whose log is put aside while connections come: GROVE_TEST_MONGOD is its command line, which `make accept ONLY=a3.4.mongod` sets.
func TestNoLineOfARealMongodIsLost(t *testing.T) {
	words := strings.Fields(os.Getenv("GROVE_TEST_MONGOD"))
	if len(words) == 0 {
		t.Skip("GROVE_TEST_MONGOD is not set: not tried is that a real mongod begins a new log when it is told, and loses no line; make accept ONLY=a3.4.mongod does")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	dir, data := t.TempDir(), t.TempDir()
	log := filepath.Join(dir, "mongod.log")
	_, port, _ := net.SplitHostPort(address)
	c := exec.Command(words[0], append(words[1:], "--bind_ip", "127.0.0.1", "--nounixsocket", "--port", port, "--dbpath", data, "--logpath", log, "--logappend", "--logRotate", "reopen", "--wiredTigerCacheSizeGB", "0.25")...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() { _ = c.Process.Kill(); <-ended })
	s := &Site{Machine: host.Real{}, Log: log, Output: filepath.Join(dir, "out"), Want: spec.Logs{Rotate: "none", Size: size.MiB, Keep: 1000}, Node: quiet{},
		Mongod: func() (host.Running, bool, bool) { return host.Running{PID: c.Process.Pid}, true, true }}

	stop := make(chan struct{})
	var knocking sync.WaitGroup
	for range 4 {
		knocking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if conn, err := net.Dial("tcp", address); err == nil {
					conn.Close()
				} else {
					time.Sleep(10 * time.Millisecond) // it starts
				}
			}
		})
	}
	deadline := time.Now().Add(2 * time.Minute)
	for f := (files{}); len(f.old) < 6; {
		if time.Now().After(deadline) {
			t.Fatalf("only %d old logs in two minutes", len(f.old))
		}
		time.Sleep(20 * time.Millisecond)
		if err := s.turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f, err = s.survey(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	knocking.Wait()
	select {
	case err := <-ended:
		t.Fatalf("mongod has ended: %v", err)
	case <-time.After(time.Second):
	}
	connections(t, dir)
}

// connections are numbered from 1, and each has a line when it is accepted and one when it has ended.
func connections(t *testing.T, dir string) {
	t.Helper()
	all, names := lines(t, dir)
	seen := map[string][]int{}
	for _, text := range all {
		var line struct {
			Msg  string `json:"msg"`
			Attr struct {
				Connection int `json:"connectionId"`
			} `json:"attr"`
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("half a line: %v: %s", err, text)
		}
		seen[line.Msg] = append(seen[line.Msg], line.Attr.Connection)
	}
	for _, msg := range []string{"Connection accepted", "Connection ended"} {
		slices.Sort(seen[msg])
		for i, id := range seen[msg] {
			if id != i+1 {
				t.Fatalf("%s: number %d of %d is %d, in %s", msg, i+1, len(seen[msg]), id, names)
			}
		}
	}
	if n := len(all); n < 10000 || len(seen["Connection accepted"]) < 1000 {
		t.Errorf("only %d lines, %d connections", n, len(seen["Connection accepted"]))
	}
	t.Logf("%d lines of %d connections, in %d files", len(all), len(seen["Connection accepted"]), len(strings.Fields(names)))
}
