package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"grove/firstboot/firewall"
)

// gate is the kernel's packet filter and its ports.
type gate struct {
	mu     sync.Mutex
	broken error
	tables []string
	ports  []int
	has    []netip.Prefix                  // addresses; 10.5.0.11/24 if nil
	port   func(int) (net.Listener, error) // one with callers; nobody knocks if nil
}

func (g *gate) filter(_ context.Context, t firewall.Table) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.broken == nil {
		g.tables = append(g.tables, t.String())
	}
	return g.broken
}

func (g *gate) addresses() []netip.Prefix {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.has == nil {
		return []netip.Prefix{netip.MustParsePrefix("10.5.0.11/24")}
	}
	return g.has
}

func (g *gate) change(do func(*gate)) { g.mu.Lock(); defer g.mu.Unlock(); do(g) }

// rules are those of now, opened the ports of the agent's.
func (g *gate) rules() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.tables) == 0 {
		return ""
	}
	return g.tables[len(g.tables)-1]
}

func (g *gate) opened() string { g.mu.Lock(); defer g.mu.Unlock(); return fmt.Sprint(g.ports) }

func (g *gate) listen(port int) (net.Listener, error) {
	g.change(func(g *gate) { g.ports = append(g.ports, port) })
	if g.port != nil {
		return g.port(port)
	}
	return &silence{closed: make(chan struct{})}, nil
}

// silence is a port at which nobody knocks.
type silence struct {
	once   sync.Once
	closed chan struct{}
}

func (s *silence) Accept() (net.Conn, error) { <-s.closed; return nil, net.ErrClosed }
func (s *silence) Close() error              { s.once.Do(func() { close(s.closed) }); return nil }
func (s *silence) Addr() net.Addr            { return &net.TCPAddr{} }

const (
	mongodIn = "ip saddr 10.5.0.0/24 tcp dport 27017 accept"
	sshIn    = "ip saddr 10.5.0.0/24 tcp dport 22 accept"
	operator = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4fzbLrN6v5aSpaUCoHnBVGzDIKTzKfuyGYA2pAUKcL ann@desk"
)

// withKeys names keys in node.yaml.
func (n *bench) withKeys(keys ...string) {
	n.file("sys/firmware/qemu_fw_cfg/by_name/opt/org.grove/node.yaml/raw", "hostname: db1\nssh: {keys: ["+strings.Join(keys, ", ")+"]}\n")
}

func TestNodeWithoutAKeyIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.begin()
		pass(10 * time.Second)
		n.hasSaid("ssh: no key is named, so nobody can log in: port 22 is closed", "firewall: mongod's port is open to 10.5.0.0/24, the operator's to 10.5.0.0/24; all else that comes in is dropped")
		if got := n.status(); got.SSH.State != "closed" || got.SSH.Port != 0 || n.gate.opened() != "[]" || strings.Contains(n.gate.rules(), "dport 22 ") || got.Firewall.State != "loaded" {
			t.Errorf("got %+v, ports %s, rules\n%s", got.SSH, n.gate.opened(), n.gate.rules())
		}
		n.leave()
	})
}

func TestNodeIsOpenToItsKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.withKeys(operator)
		n.begin()
		pass(10 * time.Second)
		first := n.status()
		if s := first.SSH; s.State != "open" || s.Port != 22 || !s.Kept || len(s.Keys) != 1 || s.Keys[0].Comment != "ann@desk" || s.Keys[0].From != "settings" || n.gate.opened() != "[22]" {
			t.Errorf("got %+v, ports %s", s, n.gate.opened())
		}
		for _, rule := range []string{mongodIn, sshIn} {
			if !strings.Contains(n.gate.rules(), rule) || !strings.Contains(first.Firewall.Rules, rule) {
				t.Errorf("no %q in\n%s", rule, n.gate.rules())
			}
		}
		n.hasSaid("ssh: root may log in at port 22 with " + first.SSH.Keys[0].Fingerprint + " (ann@desk); host key " + first.SSH.Fingerprint)
		if info, err := os.Stat(n.root + "/state/grove/ssh_host_ed25519_key"); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the host key: %v, %v", info, err)
		}
		n.leave()
		n.withKeys(operator, strings.Replace(operator, "ann@desk", "bob", 1)) // what node.yaml says now is what counts
		n.begin()
		pass(10 * time.Second)
		if s := n.status().SSH; s.Fingerprint != first.SSH.Fingerprint || len(s.Keys) != 2 {
			t.Errorf("the next agent has %+v", s)
		}
		n.leave()
	})
}

// An agent that comes again must not close mongod's port, even for the moment until it knows what it has to run.
func TestMongodsPortStaysOpenWhenTheAgentComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.begin()
		pass(10 * time.Second)
		n.leave()
		before := len(n.gate.tables)
		n.begin()
		pass(10 * time.Second)
		for _, table := range n.gate.tables[before:] {
			if !strings.Contains(table, mongodIn) {
				t.Errorf("for a moment there was no %q in\n%s", mongodIn, table)
			}
		}
		if len(n.gate.tables) == before {
			t.Error("the rules are not loaded again")
		}
		n.leave()
	})
}

func TestRulesFollowTheAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.gate.has = []netip.Prefix{}
		n.begin()
		pass(10 * time.Second)
		if strings.Contains(n.gate.rules(), "dport 27017") {
			t.Errorf("without an address, got\n%s", n.gate.rules())
		}
		n.gate.change(func(g *gate) { g.has = []netip.Prefix{netip.MustParsePrefix("192.0.2.5/25")} })
		n.agent.presence.Moved()
		if !strings.Contains(n.gate.rules(), "ip saddr 192.0.2.0/25 tcp dport 27017 accept") {
			t.Errorf("got\n%s", n.gate.rules())
		}
		n.leave()
	})
}

func TestWithoutAFirewallNothingOfTheAgentsOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.withKeys(operator)
		n.gate.broken = errors.New("load the firewall: operation not supported")
		n.begin()
		pass(20 * time.Second)
		const fault = "load the firewall: operation not supported; SSH and the status page stay closed, and mongod is reached by whoever reaches this node"
		n.hasSaid("firewall: " + fault)
		s := n.status()
		if n.gate.opened() != "[]" || s.Phase != "serving" || s.Firewall.State != "failed" || len(s.Problems) != 1 || s.Problems[0] != "firewall: "+fault {
			t.Errorf("ports %s, phase %s, firewall %s, problems %q", n.gate.opened(), s.Phase, s.Firewall.State, s.Problems)
		}
		n.gate.change(func(g *gate) { g.broken = nil })
		pass(30 * time.Second)
		if s := n.status(); n.gate.opened() != "[22]" || s.Firewall.State != "loaded" || len(s.Problems) != 0 {
			t.Errorf("when it can be loaded: ports %s, firewall %s, problems %q", n.gate.opened(), s.Firewall.State, s.Problems)
		}
		n.leave()
	})
}
