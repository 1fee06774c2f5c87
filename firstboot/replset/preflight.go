package replset

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"grove/firstboot/replset/join"
	"grove/firstboot/status"
	"grove/internal/spec"
)

// patience is how long a name server or a peer may take to answer. A log-in is 15,000 rounds of SHA-256 on both sides: on a board, or three machines emulated on two processors, seconds.
const patience = 8 * time.Second

// ground is what a node stands on when it looks for its set. What is in the way of joining is in Faults, first things first; what is only to be told stands in the report beside it.
type ground struct {
	checked []status.Preflight
	faults  []string
}

func (g *ground) note(what, fault string, blocks bool) {
	g.checked = append(g.checked, status.Preflight{What: what, Fault: fault})
	if fault != "" && blocks {
		g.faults = append(g.faults, fault)
	}
}

// preflight looks at names, addresses, the clock and the way to the others. mongod itself finds out at the founding whether it is meant by its own name, and the others only
// when they try to reach it: a name that means 127.0.1.1, Debian's habit, founds a set that no second member can join.
func (s *Site) preflight(ctx context.Context, v join.View) ground {
	var g ground
	var names []string
	for _, m := range s.Set.Members {
		names = append(names, m.Host)
	}
	fault := ""
	if !slices.Contains(names, s.Self) {
		fault = fmt.Sprintf("this node is called %s, and replica_set.members has %v: give it one of these names, or the set this member", s.Self, names)
	}
	g.note(s.Self+" is a member of "+s.Set.Name, fault, true)
	g.note(s.Self+" is an address of this node", s.ownName(ctx), true)
	for i, fault := range s.peers(ctx) {
		host := s.Set.Members[i].Host
		g.note(host+" has an address", fault, false)
		if host == s.Self {
			continue
		}
		p := v.Peers[host]
		g.note(host+" answers", p.Silent, false)
		fault = ""
		if p.Set != "" && p.Set != s.Set.Name {
			fault = "it is of the set " + p.Set
		}
		g.note(host+" is of "+s.Set.Name+" or of none", fault, false)
	}
	clock := s.Node.Status().Clock
	fault = ""
	if !clock.Synced {
		fault = "no time server has set the clock; the members' clocks should agree to a second"
	}
	g.note("the clock is right", fault, false)
	fault = ""
	if s.Path != nil {
		fault = s.Path()
	}
	g.note("packets of the interface's size reach the others", fault, false)
	return g
}

// ownName must lead others here.
func (s *Site) ownName(ctx context.Context) string {
	found, err := s.resolve(ctx, s.Self)
	if err != nil {
		return err.Error()
	}
	own := s.Own()
	for _, a := range found {
		switch {
		case a.IsLoopback() && !s.Loopback:
			return fmt.Sprintf("%s is %s here, which is every machine's address for itself: the others would not find this node", s.Self, a)
		case !slices.Contains(own, a):
			return fmt.Sprintf("%s is %s, which is no address of this node; it has %v: correct the name server, or network.hosts", s.Self, a, own)
		}
	}
	address := net.JoinHostPort(s.Self, strconv.Itoa(s.Port))
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Sprintf("mongod does not listen where the others will look for it: %v", err)
	}
	conn.Close()
	return ""
}

// peers says of each member what is wrong with its name, "" for this node itself.
func (s *Site) peers(ctx context.Context) []string {
	faults := make([]string, len(s.Set.Members))
	var all sync.WaitGroup
	for i, m := range s.Set.Members {
		if m.Host == s.Self {
			continue
		}
		all.Go(func() { faults[i] = s.peer(ctx, m) })
	}
	all.Wait()
	return faults
}

func (s *Site) peer(ctx context.Context, m spec.Member) string {
	found, err := s.resolve(ctx, m.Host)
	if err != nil {
		return err.Error()
	}
	own := s.Own()
	for _, a := range found {
		if a.IsLoopback() && !s.Loopback || slices.Contains(own, a) {
			return fmt.Sprintf("%s is %s, which is this node itself: correct the name server, or network.hosts", m.Host, a)
		}
	}
	return ""
}

func (s *Site) resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{a}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", name)
	if err != nil {
		return nil, fmt.Errorf("%s has no address here: %w", name, err)
	}
	for i := range found {
		found[i] = found[i].Unmap() // the resolver writes ::ffff:10.0.0.1
	}
	return found, nil
}
