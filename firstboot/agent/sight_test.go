package agent

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// street is a port whose callers are in the same process.
type street struct {
	calls chan net.Conn
	silence
}

func newStreet() *street {
	return &street{calls: make(chan net.Conn), silence: silence{closed: make(chan struct{})}}
}

func (s *street) Accept() (net.Conn, error) {
	select {
	case c := <-s.calls:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// get asks once and gives the answer.
func (s *street) get(t *testing.T, path string) (code int, body string) {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	s.calls <- far
	r, err := http.NewRequestWithContext(context.Background(), "GET", "http://db1"+path, nil)
	if err == nil {
		r.Close = true
		err = r.Write(near)
	}
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(near), r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// withPage is a node whose image has a page at port 8080.
func withPage(t *testing.T) *bench {
	n := newNode(t)
	n.file("etc/grove/image.json", `{"image": "demo", "disk_id": "`+guid+`", "mongod": {"version": "6.0.5", "config": {}}, "status": {"port": 8080}}`)
	return n
}

func TestNodeShowsHowItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, s := withPage(t), newStreet()
		n.file("state/mongod/log/mongod.log", "a line of mongod's\n")
		n.gate.port = func(int) (net.Listener, error) { return s, nil }
		n.begin()
		pass(time.Second)
		if code, text := s.get(t, "/healthz"); code != 503 || !strings.HasPrefix(text, "starting\n") && !strings.HasPrefix(text, "waiting\n") {
			t.Errorf("before mongod answers: got %d, %q", code, text)
		}
		pass(20 * time.Second)
		n.hasSaid("page: the status page is at port 8080, with /healthz, /status.json and /metrics")
		if code, text := s.get(t, "/healthz"); code != 200 || text != "ok\n" {
			t.Errorf("got %d, %q", code, text)
		}
		_, text := s.get(t, "/")
		for _, want := range []string{"serving", "demo", "10.5.0.11", "a line of mongod&#39;s"} {
			if !strings.Contains(text, want) {
				t.Errorf("the page does not say %q", want)
			}
		}
		if _, text := s.get(t, "/status.json"); !strings.Contains(text, `"phase": "serving"`) {
			t.Errorf("got %s", text)
		}
		n.file("proc/loadavg", "0.52 0.31 0.12 1/234 5678\n")
		if code, text := s.get(t, "/metrics"); code != 200 || !strings.Contains(text, "\nmongodb_up 1\n") || !strings.Contains(text, "\nnode_load1 0.52\n") {
			t.Errorf("got %d, %s", code, text)
		}
		n.leave() // which waits until the port is closed
		select {
		case <-s.closed:
		default:
			t.Error("the port is open after the agent has left")
		}
	})
}

func TestNodeWithoutAPageHasNoPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := withPage(t)
		n.file("sys/firmware/qemu_fw_cfg/by_name/opt/org.grove/node.yaml/raw", "hostname: db1\nstatus: {off: true}\n")
		n.begin()
		pass(20 * time.Second)
		n.hasSaid("page: the settings have no status page")
		if got := n.gate.opened(); got != "[]" || strings.Contains(n.gate.rules(), "8080") {
			t.Errorf("ports %s, rules\n%s", got, n.gate.rules())
		}
		n.leave()
	})
}
