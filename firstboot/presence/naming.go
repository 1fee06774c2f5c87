package presence

import (
	"net"
	"net/netip"
	"slices"
	"sync"

	"grove/firstboot/clock"
	"grove/firstboot/lend"
	"grove/firstboot/neighbours"
	"grove/firstboot/network"
	"grove/firstboot/node"
	"grove/internal/spec"
)

// naming is what the node's name and files of /etc follow from.
type naming struct {
	mu     sync.Mutex
	found  node.Found
	looked bool // for node.yaml
	late   bool // DHCP had its time
	mac    net.HardwareAddr
	leases []held // in the order in which they came

	network spec.Network // what is wanted, once looked
	node    string
	first   string // name that the node had first
	given   bool   // by a person
}

type held struct {
	link  string
	lease network.Lease
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

// Amazon is EC2's own time server, on every instance.
const Amazon = "169.254.169.123"

// servers are a person's time servers, then those of DHCP, else Amazon's own on its machines. They are not known before node.yaml was looked for, and that there is
// none not before there is an address.
func (n *naming) servers(ec2 bool) (all []string, known bool) {
	var dhcp []string
	for _, h := range n.leases {
		dhcp = append(dhcp, words(h.lease.NTP)...)
	}
	all = clock.Servers(n.network.NTP, dhcp)
	if len(all) == 0 && ec2 {
		all = []string{Amazon}
	}
	return all, n.looked && (len(all) > 0 || len(n.leases) > 0)
}

// self is the node as its neighbours see it, once it has a name and an address. root is where /sys is.
func (n *naming) self(root string) (s neighbours.Self, has bool) {
	if len(n.leases) == 0 || n.node == "" {
		return s, false
	}
	best := n.main()
	s = neighbours.Self{Name: n.node, Link: best.link, Address: best.lease.Address, Router: best.lease.Router, MTU: lend.MTU(root, best.link), Hosts: n.network.Hosts}
	for _, h := range n.leases {
		s.Own = append(s.Own, h.lease.Address.Addr())
	}
	s.DNS, s.Search = n.resolvers()
	return s, true
}
