package presence

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"slices"

	"grove/firstboot/lend"
	"grove/firstboot/network"
	"grove/firstboot/status"
	"grove/internal/spec"
)

// Connect keeps the network as the settings say, once they are known. On EC2, where node.yaml may come over it, it begins with early, the image's.
func (s *Site) Connect(ctx context.Context, early spec.Network, settings func(context.Context) (spec.Settings, bool)) {
	first, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	if s.EC2 {
		go func() { defer close(ended); s.network(first, early) }()
	} else {
		close(ended)
	}
	want, known := settings(ctx)
	if same := s.EC2 && reflect.DeepEqual(want.Network, early); known && !same {
		stop()
		<-ended
		s.network(ctx, want.Network)
	}
	<-ended
}

func (s *Site) network(ctx context.Context, n spec.Network) {
	err := network.Run(ctx, network.Config{Network: n, MTU: s.MTU, Links: s.Links, NewClient: s.NewClient, Tell: s.tellNetwork})
	if ctx.Err() == nil {
		s.Voice.Problem("network", fmt.Sprint(err))
		s.Voice.Say("network", "%v", err)
	}
}

func (s *Site) tellNetwork(e network.Event) {
	about := "network " + e.Link
	switch e.Kind {
	case network.Up:
		s.Voice.Problem(about+" carrier", "")
		s.rename(func(n *naming) {
			if n.mac == nil {
				n.mac = e.MAC
			}
		})
		s.Voice.Say("network", "%s is up, %s", e.Link, e.MAC)
	case network.Down:
		s.Voice.Problem(about+" carrier", "the carrier is lost")
		s.Voice.Say("network", "%s is down", e.Link)
	case network.Leased:
		s.Voice.Problem(about, "")
		s.rename(func(n *naming) { n.leases = append(without(n.leases, e.Link), held{e.Link, e.Lease}) })
		s.Voice.Say("network", "%s has %s by %s%s", e.Link, e.Lease.Address, by(e.Lease), router(e.Lease))
	case network.Lost:
		s.Voice.Problem(about, "no address: "+e.Why)
		s.rename(func(n *naming) { n.leases = without(n.leases, e.Link) })
		s.Voice.Say("network", "%s has no address any more: %s", e.Link, e.Why)
	case network.Failed:
		if s.Voice.Problem(about, "no address: "+e.Why) {
			s.Voice.Say("network", "%s: %s; it is tried again", e.Link, e.Why)
		}
	case network.Trouble:
		if s.Voice.Problem(about+" "+e.About, e.Why) && e.Why != "" {
			s.Voice.Say("network", "%s: %s", e.Link, e.Why)
		}
	}
	s.showLink(e)
	s.Moved()
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
func (s *Site) showLink(e network.Event) {
	if e.MAC == nil {
		return // none that is there
	}
	s.Voice.Page(func(now *status.Status) {
		links := slices.Clone(now.Network.Links)
		at := slices.IndexFunc(links, func(l status.Link) bool { return l.Name == e.Link })
		if at < 0 {
			at, links = len(links), append(links, status.Link{Name: e.Link})
		}
		l := &links[at]
		l.MAC, l.MTU = e.MAC.String(), lend.MTU(s.Root, e.Link)
		switch e.Kind {
		case network.Up, network.Down:
			l.Up = e.Kind == network.Up
		case network.Leased:
			l.Address, l.Gateway, l.By = e.Lease.Address.String(), text(e.Lease.Router), by(e.Lease)
		case network.Lost:
			l.Address, l.Gateway, l.By = "", "", ""
		}
		now.Network.Links = links
	})
}

func text(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
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
