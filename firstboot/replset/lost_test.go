package replset

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/bson"

	"grove/firstboot/replset/member"
	"grove/internal/setconf"
	"grove/internal/spec"
)

// together has all nodes up and waits for the set; it gives the set's id.
func (r *rig) together() any {
	r.t.Helper()
	for _, n := range r.nodes {
		n.up()
	}
	r.until(2*time.Minute, r.gathered)
	return r.mustID()
}

func (r *rig) mustID() any {
	r.t.Helper()
	id, err := r.id(r.nodes[0])
	if err != nil || id == nil {
		r.t.Fatalf("the set's id: %v, %v", id, err)
	}
	return id
}

// same waits for the whole set, and that it is still the one.
func (r *rig) same(id any) {
	r.t.Helper()
	r.until(2*time.Minute, r.gathered)
	if now := r.mustID(); now != id {
		r.t.Errorf("a second set: %v, was %v", now, id)
	}
}

// setless is an error if a node's mongod is in a set.
func (n *machine) setless() error {
	m, err := member.Open(n.address(), member.As{})
	if err != nil {
		return err
	}
	defer m.Close()
	h, err := m.Hello(context.Background())
	if err == nil && h.Set != "" {
		err = fmt.Errorf("%s is in %s", n.host, h.Set)
	}
	return err
}

func TestTheFirstNodeLosesItsDisk(t *testing.T) {
	for _, c := range []struct {
		name  string
		state bool                    // with what it remembers
		away  func(n *machine) func() // what becomes of the others meanwhile; what it gives brings them back
	}{
		{"while the others run", false, nil},
		{"and all it remembers, while the others run", true, nil},
		{"and all it remembers, while the others are down", true, func(n *machine) func() { n.off(); return n.up }},
		{"while the others are down", false, func(n *machine) func() { n.off(); return n.up }},
		{"and all it remembers, while it is cut off", true, (*machine).freeze},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, hosts(3)...)
			id := r.together()
			first := r.nodes[0]
			first.off()
			first.loses(c.state)
			var back []func()
			for _, n := range r.nodes[1:] {
				if c.away != nil {
					back = append(back, c.away(n))
				}
			}
			first.up()
			if c.away != nil {
				first.says("does not answer")
				if err := first.setless(); err != nil {
					t.Error(err)
				}
			}
			for _, b := range back {
				b()
			}
			r.same(id)
		})
	}
}

func TestWhatDoesNotBelongIsNamedAndLeftAlone(t *testing.T) {
	t.Run("another set's name", func(t *testing.T) {
		r := newRig(t, hosts(3)...)
		r.together()
		n := r.nodes[2]
		n.off()
		n.loses(true)
		r.set.Name = "rs1"
		n.up()
		n.says("is of the set rs0, and replica_set.name says rs1")
		if err := n.setless(); err != nil {
			t.Error(err)
		}
	})
	t.Run("data from before", func(t *testing.T) {
		r := newRig(t, hosts(3)...)
		n := r.nodes[2]
		n.foreign()
		for _, m := range r.nodes {
			m.up()
		}
		n.says("mongod has a database from before that belongs to no set")
		if err := n.setless(); err != nil {
			t.Error(err)
		}
		n.off()
		if _, err := os.Stat(filepath.Join(n.dir, "data", "storage.bson")); err != nil {
			t.Error(err)
		}
	})
	t.Run("another hostname", func(t *testing.T) {
		r := newRig(t, append(hosts(3), spec.Member{Host: "127.0.0.99"})...)
		r.nodes[3].start() // so that the first can prove it fresh
		for _, n := range r.nodes[:3] {
			n.up()
		}
		n := r.nodes[2]
		r.until(2*time.Minute, func() error { return n.is("member") })
		r.nodes[3].kill()
		n.off()
		n.host, n.ip = "127.0.0.99", "127.0.0.99"
		n.up()
		n.says("the node is 127.0.0.13:" + fmt.Sprint(r.port) + " in the set, and is called 127.0.0.99:")
	})
	t.Run("another key", func(t *testing.T) {
		r := newRig(t, hosts(3)...)
		n := r.nodes[2]
		n.secrets.Key = "YW5vdGhlciBrZXk="
		for _, m := range r.nodes {
			m.up()
		}
		r.nodes[0].says("127.0.0.13 says that it is in no set, which is not proven: it does not take this node's secrets.key")
		n.off()
		n.secrets = r.keys
		n.up()
		r.until(2*time.Minute, r.gathered)
	})
	t.Run("another operator's password on one node", func(t *testing.T) {
		r := newRig(t, hosts(3)...)
		r.nodes[1].secrets.Operator.Password = "not that one"
		r.together()
	})
}

func TestSetsOfAllSizes(t *testing.T) {
	five, hidden := spec.Number{Set: true, Value: 5}, hosts(4)
	hidden[0].Priority = five
	hidden[2] = spec.Member{Host: hidden[2].Host, Arbiter: true}
	hidden[3] = spec.Member{Host: hidden[3].Host, Hidden: true, Votes: spec.Number{Set: true}, Tags: map[string]string{"use": "backup"}}
	for name, members := range map[string][]spec.Member{"one": hosts(1), "two": hosts(2), "four": hosts(4), "seven": hosts(7), "eight": hosts(8), "a priority, an arbiter, a hidden one with tags": hidden} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, members...)
			began := time.Now()
			r.together()
			t.Logf("%d nodes: %.1f s", len(members), time.Since(began).Seconds())
		})
	}
}

func TestNodesInEachOthersWay(t *testing.T) {
	t.Run("two add themselves at once", func(t *testing.T) {
		r := newRig(t, hosts(3)...)
		var both sync.WaitGroup
		both.Add(2)
		for _, n := range r.nodes[1:] {
			var once sync.Once
			n.halt = func(ctx context.Context, step string) {
				if strings.HasPrefix(step, "decided: join") {
					once.Do(func() { both.Done(); both.Wait() })
				}
			}
		}
		r.together()
	})
	t.Run("the configuration has changed since it was read", func(t *testing.T) {
		r := newRig(t, hosts(3)...)
		changed := r.before(r.nodes[1], "decided: join", func() error { return r.touch(r.nodes[0]) })
		r.together()
		if err := <-changed; err != nil {
			t.Error(err)
		}
	})
	t.Run("the primary steps down in the middle", func(t *testing.T) {
		r := newRig(t, hosts(4)...)
		for _, n := range r.nodes[:3] {
			n.up()
		}
		last := r.nodes[3]
		last.start() // so that the first can prove it fresh
		r.until(2*time.Minute, func() error {
			for _, n := range r.nodes[:3] {
				if err := n.is("member"); err != nil {
					return err
				}
			}
			return nil
		})
		stepped := r.before(last, "decided: join", func() error {
			return r.run(r.nodes[0], r.operator(), bson.D{{Key: "replSetStepDown", Value: 20}, {Key: "force", Value: true}}, nil)
		})
		last.startAgent()
		r.until(2*time.Minute, r.gathered)
		if err := <-stepped; err != nil {
			t.Error(err)
		}
	})
	t.Run("one is taken out before it was a member", func(t *testing.T) {
		r := newRig(t, hosts(3)...)
		last := r.nodes[2]
		last.start() // so that the first can prove it fresh
		gone := r.before(r.nodes[1], withoutVote, func() error { return r.without(r.nodes[0], r.nodes[1]) })
		r.nodes[0].up()
		r.nodes[1].up()
		if err := <-gone; err != nil {
			t.Error(err)
		}
		last.startAgent()
		r.until(2*time.Minute, r.gathered)
	})
	t.Run("the quorum is lost and comes back", func(t *testing.T) {
		r := newRig(t, hosts(3)...)
		id := r.together()
		r.nodes[1].off()
		r.nodes[2].off()
		r.nodes[0].says("rs0 has no primary that answers")
		r.nodes[1].up()
		r.nodes[2].up()
		r.same(id)
	})
}

// before does something once, when a node's agent has come to a step and waits.
func (r *rig) before(n *machine, step string, do func() error) <-chan error {
	done := make(chan error, 1)
	var once sync.Once
	n.halt = func(ctx context.Context, at string) {
		if strings.HasPrefix(at, step) {
			once.Do(func() { done <- do() })
		}
	}
	return done
}

// touch installs the same configuration under the next version.
func (r *rig) touch(n *machine) error {
	return r.reconfigure(n, func(c setconf.Config) (setconf.Config, error) {
		first := c.Members()[0]
		return c.Change(first.Host, first.Votes, first.Priority)
	})
}

// without takes one out at another, which is primary.
func (r *rig) without(primary, n *machine) error {
	return r.reconfigure(primary, func(c setconf.Config) (setconf.Config, error) { return c.Without(n.address()) })
}

// reconfigure tries again while the agents do the same.
func (r *rig) reconfigure(n *machine, change func(setconf.Config) (setconf.Config, error)) error {
	m, err := member.Open(n.address(), member.System(string(r.keys.Key)))
	if err != nil {
		return err
	}
	defer m.Close()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		c, err := m.Config(context.Background())
		if err == nil {
			c, err = change(c)
		}
		if err == nil {
			err = m.Reconfig(context.Background(), c)
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func (n *machine) is(state string) error {
	if s := n.Status().Set; s.State != state || !s.Users {
		return fmt.Errorf("%s is %s: %s", n.host, s.State, s.Text)
	}
	return nil
}
