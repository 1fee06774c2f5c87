package agent

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"grove/firstboot/network"
	"grove/firstboot/node"
	"grove/firstboot/status"
	"grove/internal/spec"
)

// naming is what the node's name and files of /etc follow from; it comes bit by bit.
type naming struct {
	mu     sync.Mutex
	found  node.Found
	looked bool // for node.yaml
	late   bool // DHCP had its time
	mac    net.HardwareAddr
	leases []held // in the order in which they came

	network spec.Network  // what is wanted, once looked
	ec2     bool          // the machine is Amazon's
	news    chan struct{} // something may have changed
	node    string
	first   string        // name that the node had first, by which its disks are known
	given   bool          // by a person
	known   chan struct{} // closed when there is one
}

type held struct {
	link  string
	lease network.Lease
}

// dhcpMay is how long a node without a name of its own waits for one from DHCP.
const dhcpMay = 20 * time.Second

// takeName reads node.yaml and gives the node its name, at the latest when DHCP had its time.
func (a *Agent) takeName(ctx context.Context) {
	found, err := node.Look(a.Machine, a.Root, a.medium, a.cloud(ctx))
	if err != nil {
		a.voice.Problem("node", err.Error())
		a.voice.Say("node", "%v", err)
	}
	if len(found.Faults) > 0 {
		sentence := "node.yaml is refused: " + strings.ReplaceAll(found.Faults.Error(), "\n", "; ")
		a.voice.Problem("node", sentence)
		a.voice.Say("node", "%s", sentence)
	}
	a.settle(found)
	a.rename(func(n *naming) { n.found, n.looked, n.network = found, true, a.settled.value.Network })
	select {
	case <-ctx.Done():
	case <-time.After(dhcpMay):
		a.rename(func(n *naming) { n.late = true })
	}
}

// rename takes in something new about the name or the addresses, and sets what follows from it.
func (a *Agent) rename(change func(*naming)) {
	n := &a.naming
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
	first := n.main().lease
	var addresses []string
	for _, h := range n.leases {
		addresses = append(addresses, h.lease.Address.String())
	}
	name, from := node.Name(n.found, first.Hostname, n.mac)
	if n.known == nil {
		n.known = make(chan struct{})
	}
	known := n.looked && (n.found.Personal.Hostname != "" || len(n.leases) > 0 || n.late)
	if known && name != n.node {
		n.node = name
		a.problemIf("hostname", a.Machine.SetHostname(name))
		a.voice.Say("node", "%s, by %s", name, from)
		if n.first == "" {
			n.first, n.given = name, n.found.Personal.Hostname != ""
			close(n.known)
		}
	}
	a.voice.Page(func(s *status.Status) {
		dns, search := n.resolvers()
		s.Network.DNS, s.Network.Search = words(dns), search
		if s.Addresses = addresses; known {
			s.Node, s.NodeFrom = name, from
		}
	})
	a.problemIf("etc", a.writeEtc(n.node, first.Address.Addr()))
	if servers, known := n.servers(); known {
		a.clock.Offer(servers)
	}
	nudge(n.news)
}

// named waits until the node has a name, which takes no longer than DHCP may.
func (a *Agent) named(ctx context.Context) {
	a.rename(func(*naming) {})
	select {
	case <-a.naming.known:
	case <-ctx.Done():
	}
}

func (a *Agent) firstName() (name string, given bool) {
	a.naming.mu.Lock()
	defer a.naming.mu.Unlock()
	return a.naming.first, a.naming.given
}

func (a *Agent) problemIf(about string, err error) {
	sentence := ""
	if err != nil {
		sentence = err.Error()
	}
	if a.voice.Problem(about, sentence) && err != nil {
		a.voice.Say("node", "%v", err)
	}
}

// writeEtc is called with naming locked.
func (a *Agent) writeEtc(name string, address netip.Addr) error {
	dns, search := a.naming.resolvers()
	return errors.Join(
		status.Replace(a.Root+"/etc/hostname", []byte(name+"\n")),
		status.Replace(a.Root+"/etc/hosts", []byte(node.Hosts(name, address, a.naming.network.Hosts))),
		status.Replace(a.Root+"/etc/resolv.conf", []byte(node.Resolv(dns, search))))
}

// address is where others find mongod, as far as is known.
func (a *Agent) address() string {
	a.naming.mu.Lock()
	defer a.naming.mu.Unlock()
	ip := netip.MustParseAddr("127.0.0.1")
	if len(a.naming.leases) > 0 {
		ip = a.naming.main().lease.Address.Addr()
	}
	return netip.AddrPortFrom(ip, uint16(a.voice.Status().Mongod.Port)).String()
}

// writeUsers makes the two users that there are known by name.
func writeUsers(root string) error {
	passwd := "root:x:0:0:root:/root:/bbin/gosh\nmongod:x:990:990:mongod:/:/bbin/false\n"
	group := "root:x:0:\nmongod:x:990:\n"
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
		return err
	}
	return errors.Join(status.Replace(root+"/etc/passwd", []byte(passwd)), status.Replace(root+"/etc/group", []byte(group)))
}
