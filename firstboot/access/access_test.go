package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"grove/firstboot/sshd"
	"grove/firstboot/status"
	"grove/firstboot/voice"
	"grove/internal/host"
	"grove/internal/spec"
)

const operator = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4fzbLrN6v5aSpaUCoHnBVGzDIKTzKfuyGYA2pAUKcL ann@desk"

// bench is a node's door with a firewall that stands once it is raised, and a port at which nobody knocks. What comes to pass is written down in its order.
type bench struct {
	*Site
	root    string
	machine *host.FakeMachine
	mounted bool
	raised  chan struct{}
	taken   error // the port

	mu      sync.Mutex
	order   []string
	console bytes.Buffer
}

func newDoor(t *testing.T) *bench {
	n := &bench{root: t.TempDir(), machine: &host.FakeMachine{}, mounted: true, raised: make(chan struct{})}
	close(n.raised)
	n.again()
	return n
}

// again is the next agent.
func (n *bench) again() {
	v := &voice.Voice{Machine: n.machine, Root: n.root, Console: n}
	n.Site = &Site{Machine: n.machine, Root: n.root, Listen: n.listen, Wall: n, Node: v.On("ssh"), State: func(context.Context) (bool, bool) { return n.mounted, true }}
}

func (n *bench) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.console.Write(p)
}

func (n *bench) note(what string) { n.mu.Lock(); defer n.mu.Unlock(); n.order = append(n.order, what) }

func (n *bench) Stands(ctx context.Context) bool {
	select {
	case <-n.raised:
		return true
	case <-ctx.Done():
		return false
	}
}

func (n *bench) SSH(port int) { n.note(fmt.Sprintf("let in %d", port)) }

func (n *bench) listen(port int) (net.Listener, error) {
	n.note(fmt.Sprintf("listen %d", port))
	return &silence{closed: make(chan struct{})}, n.taken
}

func (n *bench) done() string { n.mu.Lock(); defer n.mu.Unlock(); return strings.Join(n.order, ", ") }

func (n *bench) said() string { n.mu.Lock(); defer n.mu.Unlock(); return n.console.String() }

func (n *bench) status() status.Status { return status.Read(n.root + status.File) }

// while has the door open while look looks at it, at rest.
func (n *bench) while(t *testing.T, keys []string, look func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); n.Open(ctx, spec.SSH{Keys: keys}) }()
	synctest.Wait()
	look()
	cancel()
	<-ended
}

// silence is a port at which nobody knocks.
type silence struct {
	once   sync.Once
	closed chan struct{}
}

func (s *silence) Accept() (net.Conn, error) { <-s.closed; return nil, net.ErrClosed }
func (s *silence) Close() error              { s.once.Do(func() { close(s.closed) }); return nil }
func (s *silence) Addr() net.Addr            { return &net.TCPAddr{} }

func TestWhoMayLogIn(t *testing.T) {
	for _, c := range []struct {
		name     string
		keys     []string
		instance func(context.Context) ([]string, error)
		state    string
		from     []string
		says     string
	}{
		{"without a key nobody, and the port is closed", nil, nil, "closed", nil, "ssh: no key is named, so nobody can log in: port 22 is closed"},
		{"who has a key of the settings", []string{operator}, nil, "open", []string{"settings"}, "ssh: root may log in at port 22 with SHA256:"},
		{"who has the instance's key", nil, func(context.Context) ([]string, error) { return []string{operator}, nil }, "open", []string{"EC2"}, "(ann@desk); host key SHA256:"},
		{"nobody, if the cloud does not say its only key", nil, func(context.Context) ([]string, error) { return nil, errors.New("no address within 1m0s") }, "closed", nil,
			"ssh: the instance's key: no address within 1m0s"},
		{"who has a key of the settings, if the cloud does not say its own", []string{operator}, func(context.Context) ([]string, error) { return nil, errors.New("no address within 1m0s") }, "open",
			[]string{"settings"}, "ssh: the instance's key: no address within 1m0s"},
		{"who has a key of the settings, while the cloud has not answered", []string{operator}, func(ctx context.Context) ([]string, error) { <-ctx.Done(); return nil, ctx.Err() }, "open",
			[]string{"settings"}, "ssh: root may log in at port 22 with SHA256:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newDoor(t)
				n.Instance = c.instance
				n.while(t, c.keys, func() {
					s := n.status().SSH
					var from []string
					for _, k := range s.Keys {
						from = append(from, k.From)
					}
					if s.State != c.state || !slices.Equal(from, c.from) {
						t.Errorf("got %s, keys from %q; want %s, %q", s.State, from, c.state, c.from)
					}
					if !strings.Contains(n.said(), c.says) {
						t.Errorf("the console lacks %q; it has\n%s", c.says, n.said())
					}
					if open := n.done() != ""; open != (c.state == "open") {
						t.Errorf("done: %s", n.done())
					}
				})
			})
		})
	}
}

// A port that listens before there are rules could be knocked at by anybody.
func TestDoorWaitsForTheFirewall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newDoor(t)
		n.raised = make(chan struct{})
		n.while(t, []string{operator}, func() {
			time.Sleep(time.Hour)
			synctest.Wait()
			if got := n.done(); got != "" || n.status().SSH.State != "" {
				t.Errorf("before there are rules: %s, page %+v", got, n.status().SSH)
			}
			close(n.raised)
			synctest.Wait()
			if got, want := n.done(), "listen 22, let in 22"; got != want {
				t.Errorf("got %s; want %s", got, want)
			}
		})
	})
}

func TestPortThatIsTakenIsAProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newDoor(t)
		n.taken = errors.New("listen tcp :22: bind: address already in use")
		n.while(t, []string{operator}, func() {
			if s := n.status(); s.SSH.State == "open" || len(s.Problems) != 1 || s.Problems[0] != "ssh: "+n.taken.Error() || n.done() != "listen 22" {
				t.Errorf("got %+v, %q, done %s", s.SSH, s.Problems, n.done())
			}
		})
	})
}

func TestHostKeyIsKeptWhereThereIsAState(t *testing.T) {
	for _, c := range []struct {
		name    string
		mounted bool
		file    string
	}{
		{"on the state partition", true, "/state/grove/ssh_host_ed25519_key"},
		{"else of this boot", false, "/run/grove/ssh_host_ed25519_key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newDoor(t)
				n.mounted = c.mounted
				var first status.SSH
				n.while(t, []string{operator}, func() { first = n.status().SSH })
				if info, err := os.Stat(n.root + c.file); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("the host key: %v, %v", info, err)
				}
				if said := strings.Contains(n.said(), "ssh: without a state partition the host key is another one after each restart\n"); said == c.mounted {
					t.Errorf("the console has\n%s", n.said())
				}
				n.again()
				n.while(t, []string{operator}, func() {
					if s := n.status().SSH; s.State != "open" || s.Kept != c.mounted || s.Fingerprint != first.Fingerprint || s.Fingerprint == "" {
						t.Errorf("the next agent has %+v, the first had %+v", s, first)
					}
				})
			})
		})
	}
}

func TestSessionsOfADeadAgentAreHungUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newDoor(t)
		left, err := n.machine.Spawn(host.Daemon{Path: "/bbin/sleep", Env: []string{sshd.Mark}})
		if err != nil {
			t.Fatal(err)
		}
		n.while(t, nil, func() {
			if want := fmt.Sprintf("ssh: process %d is left of a session of an agent before this one; it is hung up\n", left.PID); !strings.Contains(n.said(), want) || len(n.machine.Marked(sshd.Mark)) > 0 {
				t.Errorf("want %q and no session in\n%s", want, n.said())
			}
		})
	})
}

func TestRefusedLogInsDoNotDrownTheConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newDoor(t)
		for range 500 {
			n.tell(sshd.Event{Kind: sshd.Refused, From: "192.0.2.9:4000", Why: "EOF"})
		}
		time.Sleep(2 * spoken)
		n.tell(sshd.Event{Kind: sshd.Refused, From: "192.0.2.9:4001", Why: "EOF"})
		var got []string
		for line := range strings.Lines(n.said()) {
			_, text, _ := strings.Cut(line, " ssh: ")
			got = append(got, strings.TrimSpace(text))
		}
		if want := []string{"a log-in from 192.0.2.9:4000 was refused: EOF", "499 log-ins were refused, one of them from 192.0.2.9:4000: EOF", "a log-in from 192.0.2.9:4001 was refused: EOF"}; !slices.Equal(got, want) {
			t.Errorf("got %q; want %q", got, want)
		}
		if got := n.status().SSH.Refused; got != 501 {
			t.Errorf("the page has %d", got)
		}
	})
}
