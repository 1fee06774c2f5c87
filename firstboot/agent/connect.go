package agent

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"slices"

	"grove/firstboot/clock"
	"grove/firstboot/lend"
	"grove/firstboot/network"
	"grove/firstboot/network/probe"
	"grove/firstboot/status"
	"grove/internal/spec"
)

// Wire is what the agent asks of other machines.
type Wire struct {
	Time     func(ctx context.Context, server string) clock.Sample
	Echo     func(ctx context.Context, from, to netip.Addr, bytes int) (probe.Pong, error)
	Name     func(ctx context.Context, server netip.AddrPort, name string) ([]netip.Addr, error)
	Metadata string // where EC2's metadata service is
}

// connect keeps the network. On EC2, where node.yaml may come over it, it begins with the recipe's.
func (a *Agent) connect(ctx context.Context) {
	early, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	if a.naming.ec2 {
		go func() { defer close(ended); a.network(early, a.image.Network) }()
	} else {
		close(ended)
	}
	s, known := a.settings(ctx)
	if same := a.naming.ec2 && reflect.DeepEqual(s.Network, a.image.Network); known && !same {
		stop()
		<-ended
		a.network(ctx, s.Network)
	}
	<-ended
}

func (a *Agent) network(ctx context.Context, n spec.Network) {
	err := network.Run(ctx, network.Config{Network: n, MTU: a.lending.Of, Links: a.Links, NewClient: a.NewClient, Tell: a.tellNetwork})
	if ctx.Err() == nil {
		a.voice.Problem("network", fmt.Sprint(err))
		a.voice.Say("network", "%v", err)
	}
}

func (a *Agent) tellNetwork(e network.Event) {
	about := "network " + e.Link
	switch e.Kind {
	case network.Up:
		a.voice.Problem(about+" carrier", "")
		a.rename(func(n *naming) {
			if n.mac == nil {
				n.mac = e.MAC
			}
		})
		a.voice.Say("network", "%s is up, %s", e.Link, e.MAC)
	case network.Down:
		a.voice.Problem(about+" carrier", "the carrier is lost")
		a.voice.Say("network", "%s is down", e.Link)
	case network.Leased:
		a.voice.Problem(about, "")
		a.rename(func(n *naming) { n.leases = append(without(n.leases, e.Link), held{e.Link, e.Lease}) })
		a.voice.Say("network", "%s has %s by %s%s", e.Link, e.Lease.Address, by(e.Lease), router(e.Lease))
	case network.Lost:
		a.voice.Problem(about, "no address: "+e.Why)
		a.rename(func(n *naming) { n.leases = without(n.leases, e.Link) })
		a.voice.Say("network", "%s has no address any more: %s", e.Link, e.Why)
	case network.Failed:
		if a.voice.Problem(about, "no address: "+e.Why) {
			a.voice.Say("network", "%s: %s; it is tried again", e.Link, e.Why)
		}
	case network.Trouble:
		if a.voice.Problem(about+" "+e.About, e.Why) && e.Why != "" {
			a.voice.Say("network", "%s: %s", e.Link, e.Why)
		}
	}
	a.showLink(e)
	a.wall.Moved()
}

func by(l network.Lease) string {
	if l.Static {
		return "settings"
	}
	return "DHCP"
}

func router(l network.Lease) string {
	if !l.Router.IsValid() {
		return ""
	}
	return ", router " + l.Router.String()
}

func without(leases []held, link string) (rest []held) {
	for _, h := range leases {
		if h.link != link {
			rest = append(rest, h)
		}
	}
	return rest
}

// showLink puts an interface on the page as it is after an event.
func (a *Agent) showLink(e network.Event) {
	if e.MAC == nil {
		return // none that is there
	}
	a.voice.Page(func(s *status.Status) {
		links := slices.Clone(s.Network.Links)
		at := slices.IndexFunc(links, func(l status.Link) bool { return l.Name == e.Link })
		if at < 0 {
			at, links = len(links), append(links, status.Link{Name: e.Link})
		}
		l := &links[at]
		l.MAC, l.MTU = e.MAC.String(), lend.MTU(a.Root, e.Link)
		switch e.Kind {
		case network.Up, network.Down:
			l.Up = e.Kind == network.Up
		case network.Leased:
			l.Address, l.Gateway, l.By = e.Lease.Address.String(), text(e.Lease.Router), by(e.Lease)
		case network.Lost:
			l.Address, l.Gateway, l.By = "", "", ""
		}
		s.Network.Links = links
	})
}

func text(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// main is the address by which others know the node: one with a way out before others, then by the interface's name. The zero value if there is none.
func (n *naming) main() (best held) {
	for i, h := range n.leases {
		out, bestOut := h.lease.Router.IsValid(), best.lease.Router.IsValid()
		if i == 0 || out && !bestOut || out == bestOut && h.link < best.link {
			best = h
		}
	}
	return best
}

// resolvers are the name servers and search domains: a person's first, then those of DHCP, each once.
func (n *naming) resolvers() (servers []netip.Addr, search []string) {
	add := func(s netip.Addr) {
		if !slices.Contains(servers, s) {
			servers = append(servers, s)
		}
	}
	for _, s := range n.network.DNS {
		if address, err := netip.ParseAddr(s); err == nil {
			add(address)
		}
	}
	domains := slices.Clone(n.network.Search)
	for _, h := range n.leases {
		for _, s := range h.lease.DNS {
			add(s)
		}
		domains = append(domains, h.lease.Search...)
	}
	for _, d := range domains {
		if !slices.Contains(search, d) {
			search = append(search, d)
		}
	}
	return servers, search
}

func words(addresses []netip.Addr) (all []string) {
	for _, a := range addresses {
		all = append(all, a.String())
	}
	return all
}

// nudge wakes who waits for a channel of one place.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
