package agent

import (
	"context"
	"time"

	"grove/firstboot/lend"
	"grove/firstboot/neighbours"
)

// Times of asking the neighbours: soon after something has changed, and now and then, more often while something is wrong.
const (
	askAfter = 3 * time.Second
	askEvery = 5 * time.Minute
	askAgain = time.Minute
)

// askNeighbours finds out what only others know: whether another machine has this node's name, and whether packets as large as this node's get through.
func (a *Agent) askNeighbours(ctx context.Context) {
	if _, known := a.settings(ctx); !known {
		return
	}
	for {
		every := askEvery
		if s, has := a.self(); has {
			if a.tellNeighbours(ctx, s) {
				every = askAgain
			}
		}
		select {
		case <-time.After(every):
		case <-a.naming.news:
			select {
			case <-time.After(askAfter):
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// tellNeighbours says whether something is wrong.
func (a *Agent) tellNeighbours(ctx context.Context, s neighbours.Self) (wrong bool) {
	wire := neighbours.Wire{Echo: a.Wire.Echo, Name: a.Wire.Name}
	name, mtu := wire.Shared(ctx, s), wire.TooLarge(ctx, s)
	if ctx.Err() != nil {
		return false
	}
	for about, sentence := range map[string]string{"hostname": name, "mtu": mtu} {
		if a.voice.Problem("neighbours "+about, sentence) && sentence != "" {
			a.voice.Say("network", "%s", sentence)
		}
		wrong = wrong || sentence != ""
	}
	return wrong
}

// self is the node as its neighbours see it, once it has a name and an address.
func (a *Agent) self() (s neighbours.Self, has bool) {
	n := &a.naming
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.leases) == 0 || n.node == "" {
		return s, false
	}
	best := n.main()
	s = neighbours.Self{Name: n.node, Link: best.link, Address: best.lease.Address, Router: best.lease.Router, MTU: lend.MTU(a.Root, best.link), Hosts: n.network.Hosts}
	for _, h := range n.leases {
		s.Own = append(s.Own, h.lease.Address.Addr())
	}
	s.DNS, s.Search = n.resolvers()
	return s, true
}
