// Package wall keeps a node's firewall: it loads the rules that package firewall decides as soon as the settings are known, and again whenever a port opens or an address
// changes.
//
// The rules in the kernel outlive the agent, and the next one replaces them by its own without a gap: it begins with what the agent before it has opened for mongod. Nothing of
// the agent's own opens before there are rules; mongod, which asks who is there, goes on without.
package wall

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"grove/firstboot/firewall"
	"grove/firstboot/status"
	"grove/firstboot/storage"
	"grove/internal/host"
	"grove/internal/spec"
)

// Node is the agent around it.
type Node interface {
	Say(format string, values ...any) // a line on the console, about the firewall
	Page(change func(*status.Status))
	Problem(about, sentence string) (news bool)
}

// Site is one node's. Root stands before every path, empty but in tests.
type Site struct {
	Machine   host.Machine
	Root      string
	Filter    func(context.Context, firewall.Table) error // the kernel's packets
	Addresses func() []netip.Prefix                       // of the node
	Node      Node

	mu     sync.Mutex // held while rules are loaded
	known  bool       // the settings are, so that rules can be
	wanted firewall.Wanted
	missed error         // of the kernel's modules; it counts only if the kernel can't do without
	loaded string        // rules, as text; empty before the first
	said   string        // of them
	tried  chan struct{} // closed after the first attempt
	up     chan struct{} // closed when there are rules
}

// again is when a firewall that could not be loaded is tried again.
const again = 30 * time.Second

// Open comes first. mongod is the port that an agent before this one has opened for it, 0 for none.
func (s *Site) Open(mongod int) {
	s.wanted, s.tried, s.up = firewall.Wanted{Mongod: mongod}, make(chan struct{}), make(chan struct{})
}

// Raise loads the rules, and tries until it has or ctx ends.
func (s *Site) Raise(ctx context.Context, set spec.Settings) {
	missed := (&storage.Modules{Host: s.Machine, Root: s.Root}).Load(firewall.Modules...)
	s.mu.Lock()
	s.known, s.missed = true, missed
	s.mu.Unlock()
	for first := true; ; first = false {
		err := s.letIn(func(w *firewall.Wanted) {
			w.Networks, w.Own = set.Firewall, s.Addresses()
			if !set.Status.Off {
				w.Page = set.Status.Port
			}
		})
		if first {
			close(s.tried)
		}
		if err == nil {
			close(s.up)
			return
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return
		}
	}
}

// Stands waits until there are rules. False means that ctx has ended before.
func (s *Site) Stands(ctx context.Context) bool {
	select {
	case <-s.up:
		return true
	case <-ctx.Done():
		return false
	}
}

// letIn changes what is wanted, and loads the rules that follow, if they are others. It returns when they count.
func (s *Site) letIn(change func(*firewall.Wanted)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.wanted)
	if !s.known {
		return nil
	}
	table := firewall.Decide(s.wanted)
	text := table.String()
	if text == s.loaded {
		return nil
	}
	err := s.Filter(context.Background(), table)
	if err == nil {
		s.loaded = text
	}
	s.tell(table, err)
	return err
}

// tell is called with the wall locked.
func (s *Site) tell(t firewall.Table, err error) {
	state, fault := "loaded", ""
	said := fmt.Sprintf("mongod's port is open to %s, the operator's to %s; all else that comes in is dropped", list(t.Cluster), list(t.Operator))
	if err != nil {
		state, fault = "failed", strings.ReplaceAll(errors.Join(err, s.missed).Error(), "\n", "; ")
		if s.loaded == "" {
			fault += "; SSH and the status page stay closed, and mongod is reached by whoever reaches this node"
		} else {
			fault += "; the rules of before stay"
		}
		said = fault
	}
	s.Node.Problem("firewall", fault)
	s.Node.Page(func(now *status.Status) {
		now.Firewall = status.Firewall{State: state, Cluster: texts(t.Cluster), Operator: texts(t.Operator), Rules: s.loaded}
	})
	if said != s.said {
		s.Node.Say("%s", said)
	}
	s.said = said
}

// Mongod opens its port, before it listens, once there was a first attempt at the rules. An error is ctx's.
func (s *Site) Mongod(ctx context.Context, port int) error {
	select {
	case <-s.tried:
		_ = s.letIn(func(w *firewall.Wanted) { w.Mongod = port }) // what is wrong was said
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// SSH opens the port of the agent's own server, once there are rules.
func (s *Site) SSH(port int) {
	_ = s.letIn(func(w *firewall.Wanted) { w.SSH = port }) // what is wrong was said; the rules of before let nobody in
}

// Moved follows the node's addresses.
func (s *Site) Moved() {
	_ = s.letIn(func(w *firewall.Wanted) { w.Own = s.Addresses() })
}

func texts(networks []netip.Prefix) (all []string) {
	for _, n := range networks {
		all = append(all, n.String())
	}
	return all
}

func list(networks []netip.Prefix) string {
	if len(networks) == 0 {
		return "nobody"
	}
	return strings.Join(texts(networks), ", ")
}

// Addresses are the IPv4 addresses of a machine's interfaces, but for the loopback one's.
func Addresses() (all []netip.Prefix) {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range found {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() {
			all = append(all, p)
		}
	}
	return all
}
