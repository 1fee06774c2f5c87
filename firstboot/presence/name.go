package presence

import (
	"errors"
	"net/netip"

	"grove/firstboot/node"
	"grove/firstboot/status"
)

// rename takes in something new about the name or the addresses, and sets what follows from it.
func (s *Site) rename(change func(*naming)) {
	n := &s.naming
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
	first := n.main().lease
	var addresses []string
	for _, h := range n.leases {
		addresses = append(addresses, h.lease.Address.String())
	}
	name, from := node.Name(n.found, first.Hostname, n.mac)
	known := n.looked && (n.found.Personal.Hostname != "" || len(n.leases) > 0 || n.late)
	if known && name != n.node {
		n.node = name
		s.problemIf("hostname", s.Machine.SetHostname(name))
		s.Voice.Say("node", "%s, by %s", name, from)
		if n.first == "" {
			n.first, n.given = name, n.found.Personal.Hostname != ""
			close(s.known)
		}
	}
	s.Voice.Page(func(now *status.Status) {
		dns, search := n.resolvers()
		now.Network.DNS, now.Network.Search = words(dns), search
		if now.Addresses = addresses; known {
			now.Node, now.NodeFrom = name, from
		}
	})
	s.problemIf("etc", s.writeEtc(n.node, first.Address.Addr()))
	if servers, known := n.servers(s.EC2); known {
		s.Offer(servers)
	}
	nudge(s.news)
}

func (s *Site) problemIf(about string, err error) {
	sentence := ""
	if err != nil {
		sentence = err.Error()
	}
	if s.Voice.Problem(about, sentence) && err != nil {
		s.Voice.Say("node", "%v", err)
	}
}

// writeEtc is called with naming locked.
func (s *Site) writeEtc(name string, address netip.Addr) error {
	dns, search := s.naming.resolvers()
	return errors.Join(
		status.Replace(s.Root+"/etc/hostname", []byte(name+"\n")),
		status.Replace(s.Root+"/etc/hosts", []byte(node.Hosts(name, address, s.naming.network.Hosts))),
		status.Replace(s.Root+"/etc/resolv.conf", []byte(node.Resolv(dns, search))))
}
