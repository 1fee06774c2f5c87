package wall

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"grove/firstboot/firewall"
	"grove/firstboot/status"
	"grove/firstboot/voice"
	"grove/internal/host"
	"grove/internal/spec"
)

// bench is a node whose kernel keeps the rules that it is given.
type bench struct {
	Site

	lock    sync.Mutex // of what follows
	broken  error
	tables  []string
	has     []netip.Prefix
	console bytes.Buffer
}

// newWall is a node's that has the address 10.5.0.11/24. mongod is what an agent before this one has opened for it.
func newWall(t *testing.T, mongod int) *bench {
	n := &bench{has: []netip.Prefix{netip.MustParsePrefix("10.5.0.11/24")}}
	machine, root := &host.FakeMachine{}, t.TempDir()
	v := &voice.Voice{Machine: machine, Root: root, Console: &n.console}
	n.Site = Site{Machine: machine, Root: root, Addresses: func() []netip.Prefix { return n.has }, Node: v.On("firewall"), Filter: func(_ context.Context, t firewall.Table) error {
		n.lock.Lock()
		defer n.lock.Unlock()
		if n.broken == nil {
			n.tables = append(n.tables, t.String())
		}
		return n.broken
	}}
	n.Open(mongod)
	return n
}

func (n *bench) status() status.Status { return status.Read(n.Root + status.File) }

func (n *bench) allows(t *testing.T, rule string, want bool) {
	t.Helper()
	if got := len(n.tables) > 0 && strings.Contains(n.tables[len(n.tables)-1], rule); got != want {
		t.Errorf("%q stands in the rules: got %v; want %v; they are\n%s", rule, got, want, strings.Join(n.tables[max(0, len(n.tables)-1):], ""))
	}
}

const mongodIn = "ip saddr 10.5.0.0/24 tcp dport 27017 accept"

func TestRulesFollowTheAddresses(t *testing.T) {
	n := newWall(t, 27017)
	n.has = nil
	n.Raise(t.Context(), spec.Settings{})
	n.allows(t, "dport 27017", false)
	n.has = []netip.Prefix{netip.MustParsePrefix("192.0.2.5/25")}
	n.Moved()
	n.allows(t, "ip saddr 192.0.2.0/25 tcp dport 27017 accept", true)
	loaded := len(n.tables)
	if n.Moved(); len(n.tables) != loaded {
		t.Error("the same rules are loaded again")
	}
}

// The rules of the agent before stand until these take their place: mongod's port must be in the very first.
func TestRulesOfTheNextAgentBeginWithMongodsPort(t *testing.T) {
	n := newWall(t, 27017)
	n.Raise(t.Context(), spec.Settings{})
	n.SSH(22)
	if len(n.tables) != 2 || slices.ContainsFunc(n.tables, func(table string) bool { return !strings.Contains(table, mongodIn) }) {
		t.Errorf("got %d tables:\n%s", len(n.tables), strings.Join(n.tables, "\n"))
	}
}

func TestPortsOpenAsTheSettingsSay(t *testing.T) {
	for _, c := range []struct {
		name string
		set  spec.Settings
		rule string
		want bool
	}{
		{"the page is for the operator", spec.Settings{Status: spec.Page{Port: 8080}}, "ip saddr 10.5.0.0/24 tcp dport 8080 accept", true},
		{"a page that is off has no port", spec.Settings{Status: spec.Page{Port: 8080, Off: true}}, "8080", false},
		{"named networks take the place of the node's own", spec.Settings{Status: spec.Page{Port: 8080}, Firewall: spec.Firewall{Operator: []string{"192.0.2.0/24"}}}, "ip saddr 192.0.2.0/24 tcp dport 8080 accept", true},
		{"nobody has opened mongod's", spec.Settings{}, "dport 27017", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newWall(t, 0)
			n.Raise(t.Context(), c.set)
			n.allows(t, c.rule, c.want)
		})
	}
}

func TestMongodWaitsForTheFirstAttempt(t *testing.T) {
	for _, c := range []struct {
		name   string
		broken error
	}{{"that succeeds", nil}, {"that fails: mongod goes on without", errors.New("operation not supported")}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newWall(t, 0)
				n.broken = c.broken
				ctx, cancel := context.WithCancel(t.Context())
				opened := make(chan error, 1)
				go func() { opened <- n.Mongod(ctx, 27017) }()
				time.Sleep(time.Hour)
				synctest.Wait()
				select {
				case err := <-opened:
					t.Fatalf("before there was an attempt it goes on: %v", err)
				default:
				}
				go n.Raise(ctx, spec.Settings{})
				if err := <-opened; err != nil {
					t.Error(err)
				}
				n.allows(t, mongodIn, c.broken == nil)
				cancel()
			})
		})
	}
}

func TestWaitsEndWithTheAgent(t *testing.T) {
	n := newWall(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Mongod(ctx, 27017); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n.Stands(ctx) {
		t.Error("there are rules that nobody has loaded")
	}
}

func TestWallThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newWall(t, 0)
		n.broken = errors.New("load the firewall: operation not supported")
		go n.Raise(t.Context(), spec.Settings{})
		time.Sleep(again / 2)
		synctest.Wait()
		const fault = "load the firewall: operation not supported; SSH and the status page stay closed, and mongod is reached by whoever reaches this node"
		if s := n.status(); s.Firewall.State != "failed" || len(s.Problems) != 1 || s.Problems[0] != "firewall: "+fault || strings.Count(n.console.String(), fault) != 1 {
			t.Errorf("got %s, %q; the console has\n%s", s.Firewall.State, s.Problems, n.console.String())
		}
		n.lock.Lock()
		n.broken = nil
		n.lock.Unlock()
		if !n.Stands(t.Context()) {
			t.Error("it does not stand")
		}
		if s := n.status(); s.Firewall.State != "loaded" || len(s.Problems) != 0 {
			t.Errorf("got %s, %q", s.Firewall.State, s.Problems)
		}
	})
}

// The module may be built into the kernel.
func TestModuleThatIsMissedCountsOnlyIfTheRulesAre(t *testing.T) {
	for _, c := range []struct {
		name    string
		broken  error
		problem string
	}{
		{"the kernel does without", nil, ""},
		{"the kernel can't", errors.New("operation not supported"), "exec format error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newWall(t, 0)
				n.broken = c.broken
				n.Machine.(*host.FakeMachine).Broken = map[string]error{n.Root + "/modules/nf_tables.ko": errors.New("exec format error")}
				list := `{"modules": {"nf_tables": {"file": "/modules/nf_tables.ko"}}}`
				if err := errors.Join(os.MkdirAll(n.Root+"/modules", 0o755), os.WriteFile(filepath.Join(n.Root, "modules/index.json"), []byte(list), 0o600)); err != nil {
					t.Fatal(err)
				}
				go n.Raise(t.Context(), spec.Settings{})
				synctest.Wait()
				if got := strings.Join(n.status().Problems, "; "); (got == "") != (c.problem == "") || !strings.Contains(got, c.problem) {
					t.Errorf("got the problems %q; want %q among them", got, c.problem)
				}
			})
		})
	}
}
