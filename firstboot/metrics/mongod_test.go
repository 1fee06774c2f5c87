package metrics

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/bson"
)

// A real mongod: GROVE_TEST_MONGOD is its command line, which `make accept ONLY=a3.7.mongod` sets.

// startMongod gives the port, the process's number and the log once it answers.
func startMongod(t *testing.T, more ...string) (port, pid int, log string) {
	t.Helper()
	words := strings.Fields(os.Getenv("GROVE_TEST_MONGOD"))
	if len(words) == 0 {
		t.Skip("GROVE_TEST_MONGOD is not set: not tried is which counters a real mongod gives; make accept ONLY=a3.7.mongod does")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = free.Addr().(*net.TCPAddr).Port
	free.Close()
	dir := t.TempDir()
	log = filepath.Join(dir, "mongod.log")
	args := append(words[1:], "--bind_ip", "127.0.0.1", "--nounixsocket", "--port", strconv.Itoa(port), "--dbpath", dir, "--logpath", log, "--wiredTigerCacheSizeGB", "0.25")
	c := exec.Command(words[0], append(args, more...)...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			conn.Close()
			return port, c.Process.Pid, log
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func TestEveryFigureOfARealMongod(t *testing.T) {
	port, pid, _ := startMongod(t)
	var asker Asker
	defer asker.Close()
	c := recorded()
	c.Server = func(ctx context.Context, _, _ int) (bson.Raw, error) { return asker.Status(ctx, port, pid, "", "") }
	got := text(t, c)
	for _, f := range figures {
		if mmap := f.at == "backgroundFlushing"; strings.Contains(got, "\n"+f.name) == mmap { // this one has WiredTiger
			t.Errorf("%s is there: %v", f.name, !mmap)
		}
	}
}

// A mongod that wants a login is asked once; each refusal would be a line in its log.
func TestMongodThatWantsALoginIsAskedOnce(t *testing.T) {
	port, pid, log := startMongod(t, "--auth")
	var asker Asker
	defer asker.Close()
	for range 3 {
		if _, err := asker.Status(t.Context(), port, pid, "", ""); err == nil {
			t.Error("it has answered")
		}
	}
	if _, err := asker.Status(t.Context(), port, pid, "", ""); !errors.Is(err, errLogin) {
		t.Errorf("got %v", err)
	}
	data, err := os.ReadFile(log)
	if n := strings.Count(string(data), "execute command { serverStatus"); err != nil || n != 1 {
		t.Errorf("%d refusals in its log, %v; want 1\n%s", n, err, data)
	}
}
