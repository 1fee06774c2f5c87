package sight

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"grove/firstboot/status"
	"grove/firstboot/voice"
	"grove/internal/host"
	"grove/internal/spec"
)

// bench is a node with a firewall that stands once it is raised, and one port.
type bench struct {
	*Site
	t       *testing.T
	root    string
	mounted bool
	raised  chan struct{}
	port    *street

	mu      sync.Mutex
	taken   error // the port
	opened  []int
	console bytes.Buffer
}

func newNode(t *testing.T) *bench {
	n := &bench{t: t, root: t.TempDir(), mounted: true, raised: make(chan struct{}), port: newStreet()}
	close(n.raised)
	n.again()
	return n
}

// again is the next agent.
func (n *bench) again() {
	machine := &host.FakeMachine{}
	if n.Site != nil {
		machine = n.Machine.(*host.FakeMachine)
	}
	n.Site = &Site{Machine: machine, Root: n.root, Listen: n.listen, Stands: n.stands, State: func(context.Context) (bool, bool) { return n.mounted, true },
		Voice: &voice.Voice{Machine: machine, Root: n.root, Console: n}}
	n.Open()
}

func (n *bench) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.console.Write(p)
}

func (n *bench) said() string { n.mu.Lock(); defer n.mu.Unlock(); return n.console.String() }

func (n *bench) status() status.Status { return status.Read(n.root + status.File) }

func (n *bench) file(name, text string) {
	n.t.Helper()
	name = filepath.Join(n.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		n.t.Fatal(err)
	}
}

func (n *bench) stands(ctx context.Context) bool {
	select {
	case <-n.raised:
		return true
	case <-ctx.Done():
		return false
	}
}

func (n *bench) listen(port int) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.opened = append(n.opened, port)
	if n.taken != nil {
		return nil, n.taken
	}
	return n.port, nil
}

func (n *bench) ports() int { n.mu.Lock(); defer n.mu.Unlock(); return len(n.opened) }

// while has a part work while look looks at it.
func (n *bench) while(part func(context.Context), look func()) {
	ctx, cancel := context.WithCancel(n.t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); part(ctx) }()
	look()
	cancel()
	<-ended
}

// street is a port whose callers are in the same process.
type street struct {
	calls  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newStreet() *street { return &street{calls: make(chan net.Conn), closed: make(chan struct{})} }

func (s *street) Accept() (net.Conn, error) {
	select {
	case c := <-s.calls:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}
func (s *street) Close() error   { s.once.Do(func() { close(s.closed) }); return nil }
func (s *street) Addr() net.Addr { return &net.TCPAddr{} }

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

func (n *bench) page(ctx context.Context) { n.Show(ctx, spec.Page{Port: 8080}) }

func TestPageWaitsForTheFirewall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.raised = make(chan struct{})
		n.while(n.page, func() {
			time.Sleep(time.Hour)
			synctest.Wait()
			if n.ports() > 0 {
				t.Error("it has a port before there are rules")
			}
			close(n.raised)
			synctest.Wait()
			if code, _ := n.port.get(t, "/"); code != 200 {
				t.Errorf("got %d", code)
			}
		})
		select {
		case <-n.port.closed:
		default:
			t.Error("the port is open after the agent has left")
		}
	})
}

func TestPageWaitsForItsPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.taken = errors.New("listen tcp :8080: bind: address already in use")
		n.while(n.page, func() {
			time.Sleep(time.Minute)
			synctest.Wait()
			if want := "page: listen tcp :8080: bind: address already in use; it is tried again every 10s\n"; strings.Count(n.said(), want) != 1 {
				t.Errorf("want once %q in\n%s", want, n.said())
			}
			if got := n.status().Problems; len(got) != 1 || got[0] != "page: listen tcp :8080: bind: address already in use" {
				t.Errorf("got %q", got)
			}
			n.mu.Lock()
			n.taken = nil
			n.mu.Unlock()
			time.Sleep(pageAgain + time.Second)
			synctest.Wait()
			if code, _ := n.port.get(t, "/"); code != 200 || len(n.status().Problems) != 0 {
				t.Errorf("got %d, %q", code, n.status().Problems)
			}
		})
	})
}

func TestPageShowsMongodsWords(t *testing.T) {
	for _, c := range []struct{ name, log, output, want string }{
		{"its log", "a line of its log\n", "a line that it printed\n", "a line of its log"},
		{"or what it printed before it had one", "", "a line that it printed\n", "a line that it printed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t)
				n.Voice.Page(func(s *status.Status) { s.Logs.Path = "/state/mongod/log/mongod.log" })
				n.file("state/mongod/log/mongod.log", c.log)
				n.file("run/grove/mongod.out", c.output)
				n.while(n.page, func() {
					if code, text := n.port.get(t, "/"); code != 200 || !strings.Contains(text, c.want) {
						t.Errorf("got %d; want %q in\n%s", code, c.want, text)
					}
				})
			})
		})
	}
}

func TestWithoutAPageThereIsNoPort(t *testing.T) {
	for name, want := range map[string]spec.Page{"it is off": {Port: 8080, Off: true}, "the image is from before there was one": {}} {
		n := newNode(t)
		n.Show(t.Context(), want)
		if n.ports() > 0 || !strings.Contains(n.said(), "page: the settings have no status page\n") {
			t.Errorf("%s: ports %v, console\n%s", name, n.opened, n.said())
		}
	}
}

func TestWhatTheSettingsDoNotAskForEndsAtOnce(t *testing.T) {
	n := newNode(t)
	n.Push(t.Context(), spec.Metrics{})
	n.Browse(t.Context(), spec.Page{Port: 8080})
	if n.said() != "" || n.pushed() != nil {
		t.Errorf("said %q, pushed %v", n.said(), n.pushed())
	}
}
