// Package presence is a node's presence on its network: its addresses, its name and the files of /etc that follow from both, and what only others know of it, whether a machine
// beside it has its name and whether its packets get through.
//
// All of it comes bit by bit, in any order: links, leases, node.yaml. Each bit is taken in as it comes, and what follows from it is set at once. A node without a name of its own
// has one at the latest when DHCP had its time.
package presence

import (
	"context"
	"net/netip"
	"time"

	"grove/firstboot/neighbours"
	"grove/firstboot/network"
	"grove/firstboot/node"
	"grove/firstboot/voice"
	"grove/internal/host"
	"grove/internal/spec"
)

// Site is one node's. Root stands before every path, empty but in tests.
type Site struct {
	Machine    host.Machine
	Root       string
	EC2        bool // the machine is Amazon's
	Links      network.Links
	NewClient  func() network.Client
	MTU        func(link string) int // that a link has been lent, 0 for none
	Neighbours neighbours.Wire
	Metadata   string                 // where EC2's metadata service is
	Offer      func(servers []string) // the time servers that are known now; called by one at a time
	Moved      func()                 // something has become of a link or its address
	Voice      *voice.Voice

	naming naming
	known  chan struct{} // closed when there is a name
	news   chan struct{} // something may have changed
}

// dhcpMay is how long a node without a name of its own waits for one from DHCP.
const dhcpMay = 20 * time.Second

// Open comes before all else.
func (s *Site) Open() { s.known, s.news = make(chan struct{}), make(chan struct{}, 1) }

// Take gives the node the name that node.yaml or the network has for it, at the latest when DHCP had its time.
func (s *Site) Take(ctx context.Context, found node.Found, n spec.Network) {
	s.rename(func(now *naming) { now.found, now.looked, now.network = found, true, n })
	select {
	case <-ctx.Done():
	case <-time.After(dhcpMay):
		s.rename(func(n *naming) { n.late = true })
	}
}

// Named waits until the node has a name, which takes no longer than DHCP may, or until ctx ends.
func (s *Site) Named(ctx context.Context) {
	select {
	case <-s.known:
	case <-ctx.Done():
	}
}

// First is the name that the node had first, by which its disks and its set know it, "" before, and whether a person gave it.
func (s *Site) First() (name string, given bool) {
	s.naming.mu.Lock()
	defer s.naming.mu.Unlock()
	return s.naming.first, s.naming.given
}

// Address is where others find the node, as far as is known.
func (s *Site) Address() netip.Addr {
	s.naming.mu.Lock()
	defer s.naming.mu.Unlock()
	if len(s.naming.leases) == 0 {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return s.naming.main().lease.Address.Addr()
}
