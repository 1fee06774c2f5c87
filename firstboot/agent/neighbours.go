package agent

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"grove/firstboot/network/probe"
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
		if n, has := a.self(); has {
			name, mtu := a.sharedName(ctx, n), a.lostPackets(ctx, n)
			if ctx.Err() != nil {
				return
			}
			for about, sentence := range map[string]string{"hostname shared": name, "mtu path": mtu} {
				if a.page.problem(about, sentence) && sentence != "" {
					a.say("network", "%s", sentence)
				}
				if sentence != "" {
					every = askAgain
				}
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

// self is the node as its neighbours see it.
type self struct {
	held
	name    string
	own     []netip.Addr
	dns     []netip.Addr
	search  []string
	members map[string]string // of /etc/hosts, by name
	mtu     int
}

func (a *Agent) self() (s self, has bool) {
	n := &a.naming
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.leases) == 0 || n.node == "" {
		return s, false
	}
	s = self{held: n.main(), name: n.node, members: n.network.Hosts}
	for _, h := range n.leases {
		s.own = append(s.own, h.lease.Address.Addr())
	}
	s.dns, s.search = n.resolvers()
	s.mtu = a.mtuOf(s.link)
	return s, true
}

// sharedName asks the name servers who has this node's name.
func (a *Agent) sharedName(ctx context.Context, s self) (sentence string) {
	if at, err := netip.ParseAddr(s.members[s.name]); err == nil && !slices.Contains(s.own, at) {
		return fmt.Sprintf("network.hosts says that %s is %s, but this node, which is called so, has %s", s.name, at, strings.Join(words(s.own), " and "))
	}
	for _, server := range s.dns {
		for _, name := range names(s.name, s.search) {
			found, err := a.Wire.Name(ctx, netip.AddrPortFrom(server, 53), name)
			if err != nil {
				break // another server may know
			}
			if len(found) == 0 {
				continue
			}
			if stranger(found, s.own) == (netip.Addr{}) {
				return ""
			}
			other := stranger(found, s.own)
			pong, _ := a.Wire.Echo(ctx, s.lease.Address.Addr(), other, small)
			return shared(name, other, server, pong.Came)
		}
	}
	return ""
}

// names are those under which a name server may know a host.
func names(host string, search []string) (all []string) {
	if !strings.Contains(host, ".") {
		for _, domain := range search {
			all = append(all, host+"."+domain)
		}
	}
	return append(all, host)
}

// stranger is the first of the addresses found for a name, unless one of them is this node's own.
func stranger(found, own []netip.Addr) netip.Addr {
	for _, f := range found {
		if slices.Contains(own, f) {
			return netip.Addr{}
		}
	}
	return found[0]
}

func shared(name string, other, server netip.Addr, answers bool) string {
	if answers {
		return fmt.Sprintf("another machine, %s, is called %s as well, says the name server %s; give one of the two another hostname", other, name, server)
	}
	return fmt.Sprintf("the name server %s says that %s is %s, which is not this node and does not answer; others will not find this node by its name", server, name, other)
}

// Packets that every link must carry, and those that are tried to find out what gets through: of jumbo frames, of Ethernet, of PPPoE, of tunnels.
const small = 576

var usual = [...]int{9000, 1500, 1492, 1420, 1280, small}

// mostPeers is how many machines are asked, beside the router.
const mostPeers = 8

// lostPackets sends packets as large as the link lets them be to the router and to the members on the same network. A machine that answers to none says nothing.
func (a *Agent) lostPackets(ctx context.Context, s self) (sentence string) {
	if s.mtu <= small {
		return ""
	}
	for _, peer := range peers(s) {
		if p, err := a.Wire.Echo(ctx, s.lease.Address.Addr(), peer, small); err != nil || !p.Came {
			continue
		}
		big, err := a.twice(ctx, s, peer, s.mtu)
		if err != nil || big.Came {
			continue
		}
		return a.tooLarge(ctx, s, peer, big)
	}
	return ""
}

// twice tries again before it believes in a loss.
func (a *Agent) twice(ctx context.Context, s self, peer netip.Addr, bytes int) (p probe.Pong, err error) {
	for range 2 {
		if p, err = a.Wire.Echo(ctx, s.lease.Address.Addr(), peer, bytes); err != nil || p.Came {
			return p, err
		}
	}
	return p, nil
}

func (a *Agent) tooLarge(ctx context.Context, s self, peer netip.Addr, big probe.Pong) string {
	fits := small
	for _, bytes := range usual {
		if bytes >= s.mtu {
			continue
		}
		if p, err := a.Wire.Echo(ctx, s.lease.Address.Addr(), peer, bytes); err == nil && p.Came {
			fits = bytes
			break
		}
	}
	by := ""
	if big.By.IsValid() {
		by = fmt.Sprintf("; %s takes %d at the most", big.By, big.Most)
	}
	return fmt.Sprintf("the MTU of %s is too large for its network: packets of %d bytes do not reach %s, those of %d do%s", s.link, s.mtu, peer, fits, by)
}

// peers are the router and the members on the same network.
func peers(s self) (all []netip.Addr) {
	if s.lease.Router.IsValid() {
		all = append(all, s.lease.Router)
	}
	for _, text := range s.members {
		at, err := netip.ParseAddr(text)
		if err == nil && s.lease.Address.Contains(at) && !slices.Contains(s.own, at) {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	all = slices.Compact(all)
	return all[:min(len(all), mostPeers)]
}
