// Package neighbours finds out what only other machines know of a node: whether one of them has its name, too, and whether packets as large as it sends get through.
//
// A machine that does not answer says nothing, so silence is no fault. What is found is a sentence for a person; nothing is changed by it.
package neighbours

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"grove/firstboot/network/probe"
)

// Wire asks one machine. See package probe, which is the true one.
type Wire struct {
	Echo func(ctx context.Context, from, to netip.Addr, bytes int) (probe.Pong, error)
	Name func(ctx context.Context, server netip.AddrPort, name string) ([]netip.Addr, error)
}

// Self is the node as its neighbours see it.
type Self struct {
	Name    string
	Link    string       // with the address by which others know the node
	Address netip.Prefix //
	Router  netip.Addr   // invalid if there is none
	MTU     int
	Own     []netip.Addr // all addresses
	DNS     []netip.Addr
	Search  []string
	Hosts   map[string]string // of /etc/hosts, by name
}

// Shared asks the name servers who has this node's name.
func (w Wire) Shared(ctx context.Context, s Self) (sentence string) {
	if at, err := netip.ParseAddr(s.Hosts[s.Name]); err == nil && !slices.Contains(s.Own, at) {
		return fmt.Sprintf("network.hosts says that %s is %s, but this node, which is called so, has %s", s.Name, at, list(s.Own))
	}
	for _, server := range s.DNS {
		name, found := w.find(ctx, server, s)
		if name == "" {
			continue // another server may know
		}
		other := stranger(found, s.Own)
		if !other.IsValid() || w.wild(ctx, server, name, other) {
			return ""
		}
		pong, _ := w.Echo(ctx, s.Address.Addr(), other, small)
		return shared(name, other, server, pong.Came)
	}
	return ""
}

// find asks one server for the node's names, and gives the first that it knows.
func (w Wire) find(ctx context.Context, server netip.Addr, s Self) (name string, found []netip.Addr) {
	for _, name := range names(s.Name, s.Search) {
		found, err := w.Name(ctx, netip.AddrPortFrom(server, 53), name)
		if err != nil {
			return "", nil
		}
		if len(found) > 0 {
			return name, found
		}
	}
	return "", nil
}

// wild tells whether the server gives this address for whatever it is asked, as some providers' do.
func (w Wire) wild(ctx context.Context, server netip.Addr, name string, other netip.Addr) bool {
	_, domain, _ := strings.Cut(name, ".")
	found, err := w.Name(ctx, netip.AddrPortFrom(server, 53), strings.TrimSuffix("grove-has-no-such-name."+domain, "."))
	return err == nil && slices.Contains(found, other)
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

// stranger is the first of the addresses found for a name, invalid if one of them is this node's own.
func stranger(found, own []netip.Addr) netip.Addr {
	for _, f := range found {
		if slices.Contains(own, f) || f.IsLoopback() {
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

// TooLarge sends packets as large as the link lets them be to the router and to the members on the same network. A machine that answers to none says nothing.
func (w Wire) TooLarge(ctx context.Context, s Self) (sentence string) {
	if s.MTU <= small {
		return ""
	}
	for _, peer := range peers(s) {
		if p, err := w.Echo(ctx, s.Address.Addr(), peer, small); err != nil || !p.Came {
			continue
		}
		big, err := w.twice(ctx, s, peer, s.MTU)
		if err != nil || big.Came {
			continue
		}
		return w.lost(ctx, s, peer, big)
	}
	return ""
}

// twice tries again before it believes in a loss.
func (w Wire) twice(ctx context.Context, s Self, peer netip.Addr, bytes int) (p probe.Pong, err error) {
	for range 2 {
		if p, err = w.Echo(ctx, s.Address.Addr(), peer, bytes); err != nil || p.Came {
			return p, err
		}
	}
	return p, nil
}

func (w Wire) lost(ctx context.Context, s Self, peer netip.Addr, big probe.Pong) string {
	fits := small
	for _, bytes := range usual {
		if bytes >= s.MTU {
			continue
		}
		if p, err := w.Echo(ctx, s.Address.Addr(), peer, bytes); err == nil && p.Came {
			fits = bytes
			break
		}
	}
	by := ""
	if big.By.IsValid() {
		by = fmt.Sprintf("; %s takes %d at the most", big.By, big.Most)
	}
	return fmt.Sprintf("the MTU of %s is too large for its network: packets of %d bytes do not reach %s, those of %d do%s", s.Link, s.MTU, peer, fits, by)
}

// peers are the router and the members on the same network.
func peers(s Self) (all []netip.Addr) {
	if s.Router.IsValid() {
		all = append(all, s.Router)
	}
	for _, text := range s.Hosts {
		at, err := netip.ParseAddr(text)
		if err == nil && s.Address.Contains(at) && !slices.Contains(s.Own, at) {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	all = slices.Compact(all)
	return all[:min(len(all), mostPeers)]
}

func list(addresses []netip.Addr) string {
	var words []string
	for _, a := range addresses {
		words = append(words, a.String())
	}
	return strings.Join(words, " and ")
}
