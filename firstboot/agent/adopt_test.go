package agent

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"grove/internal/host"
)

// slow is a machine whose kernel takes its time to load the firewall's modules, until it is let go.
type slow struct {
	*host.FakeMachine
	let chan struct{}
}

func (s slow) LoadModule(file string) error {
	<-s.let
	return s.FakeMachine.LoadModule(file)
}

// withSlowWall has the next agent's rules wait until let is closed.
func (n *bench) withSlowWall() (let chan struct{}) {
	n.file("modules/index.json", `{"modules": {"nf_tables": {"file": "/modules/nf_tables.ko"}}}`)
	let = make(chan struct{})
	n.door = slow{n.machine, let}
	return let
}

func TestMongodThatRunsIsTakenOverBeforeTheFirewallIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.begin()
		pass(10 * time.Second)
		n.leave()
		n.said()
		before := len(n.gate.tables)
		let := n.withSlowWall()
		n.begin()
		pass(time.Millisecond)
		n.hasSaid("mongod: 6.0.5 found, pid 100")
		pass(10 * time.Second)
		if s := n.status(); s.Phase != "serving" || s.Mongod.PID != 100 || s.Firewall.State != "" || len(n.gate.tables) != before {
			t.Errorf("while the rules are not set: phase %s, pid %d, firewall %q, %d new tables", s.Phase, s.Mongod.PID, s.Firewall.State, len(n.gate.tables)-before)
		}
		close(let)
		pass(time.Second)
		if s := n.status(); s.Phase != "serving" || s.Firewall.State != "loaded" || !strings.Contains(n.gate.rules(), mongodIn) {
			t.Errorf("then: phase %s, firewall %q, rules\n%s", s.Phase, s.Firewall.State, n.gate.rules())
		}
		n.leave()
	})
}

func TestNewMongodWaitsUntilTheFirewallIsSet(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(*bench) // the agent that is looked at
		end    func(*bench) // once it has begun
		pid    int
	}{
		{"of a node that starts", func(*bench) {}, func(*bench) {}, 100},
		{"in the place of one that was taken over and has ended", func(n *bench) { n.begin(); pass(10 * time.Second); n.leave() }, func(n *bench) { n.machine.End(100, "signal aborted") }, 101},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t)
				c.before(n)
				rules := ""
				n.machine.Spawned = func(host.Running) { rules = n.gate.rules() }
				n.gate.change(func(g *gate) { g.tables = nil }) // as seen by this agent
				let := n.withSlowWall()
				n.begin()
				pass(time.Second)
				c.end(n)
				pass(time.Hour)
				if s := n.status(); s.Mongod.PID != 0 || rules != "" {
					t.Errorf("before the rules are set: pid %d", s.Mongod.PID)
				}
				close(let)
				pass(time.Minute)
				if s := n.status(); s.Mongod.PID != c.pid || s.Phase != "serving" || !strings.Contains(rules, mongodIn) {
					t.Errorf("then: pid %d, phase %s, the rules when it was started\n%s", s.Mongod.PID, s.Phase, rules)
				}
				n.leave()
			})
		})
	}
}
