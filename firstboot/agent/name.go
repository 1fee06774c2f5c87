package agent

import (
	"context"
	"errors"
	"fmt"
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
)

// naming is what the node's name and files of /etc follow from; it comes bit by bit.
type naming struct {
	mu     sync.Mutex
	found  node.Found
	looked bool // for node.yaml
	late   bool // DHCP had its time
	mac    net.HardwareAddr
	leases []held // in the order in which they came
	node   string
	first  string        // name that the node had first, by which its disks are known
	given  bool          // by a person
	known  chan struct{} // closed when there is one
}

type held struct {
	link  string
	lease network.Lease
}

// dhcpMay is how long a node without a name of its own waits for one from DHCP.
const dhcpMay = 20 * time.Second

// takeName reads node.yaml and gives the node its name, at the latest when DHCP had its time.
func (a *Agent) takeName(ctx context.Context) {
	found, err := node.Look(a.Machine, a.Root, a.medium)
	if err != nil {
		a.page.problem("node", err.Error())
		a.say("node", "%v", err)
	}
	if len(found.Faults) > 0 {
		sentence := "node.yaml is refused: " + strings.ReplaceAll(found.Faults.Error(), "\n", "; ")
		a.page.problem("node", sentence)
		a.say("node", "%s", sentence)
	}
	a.settle(found)
	a.rename(func(n *naming) { n.found, n.looked = found, true })
	select {
	case <-ctx.Done():
	case <-time.After(dhcpMay):
		a.rename(func(n *naming) { n.late = true })
	}
}

// connect keeps the network.
func (a *Agent) connect(ctx context.Context) {
	err := network.Run(ctx, a.Links, a.NewClient, a.tellNetwork)
	if ctx.Err() == nil {
		a.page.problem("network", fmt.Sprint(err))
		a.say("network", "%v", err)
	}
}

func (a *Agent) tellNetwork(e network.Event) {
	about := "network " + e.Link
	switch e.Kind {
	case network.Up:
		a.rename(func(n *naming) {
			if n.mac == nil {
				n.mac = e.MAC
			}
		})
		a.say("network", "%s is up, %s", e.Link, e.MAC)
	case network.Leased:
		a.page.problem(about, "")
		a.rename(func(n *naming) { n.leases = append(without(n.leases, e.Link), held{e.Link, e.Lease}) })
		a.say("network", "%s has %s by DHCP%s", e.Link, e.Lease.Address, router(e.Lease))
	case network.Lost:
		a.page.problem(about, "no address: "+e.Why)
		a.rename(func(n *naming) { n.leases = without(n.leases, e.Link) })
		a.say("network", "%s has lost %s: %s", e.Link, e.Lease.Address, e.Why)
	case network.Failed:
		if a.page.problem(about, "no address: "+e.Why) {
			a.say("network", "%s: %s; it is tried again", e.Link, e.Why)
		}
	}
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

// rename takes in something new about the name or the addresses, and sets what follows from it.
func (a *Agent) rename(change func(*naming)) {
	n := &a.naming
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
	var first network.Lease
	var addresses []string
	for _, h := range n.leases {
		addresses = append(addresses, h.lease.Address.String())
	}
	if len(n.leases) > 0 {
		first = n.leases[0].lease
	}
	name, from := node.Name(n.found, first.Hostname, n.mac)
	if n.known == nil {
		n.known = make(chan struct{})
	}
	known := n.looked && (n.found.Personal.Hostname != "" || len(n.leases) > 0 || n.late)
	if known && name != n.node {
		n.node = name
		a.problemIf("hostname", a.Machine.SetHostname(name))
		a.say("node", "%s, by %s", name, from)
		if n.first == "" {
			n.first, n.given = name, n.found.Personal.Hostname != ""
			close(n.known)
		}
	}
	a.page.set(func(s *status.Status) {
		if s.Addresses = addresses; known {
			s.Node, s.NodeFrom = name, from
		}
	})
	a.problemIf("etc", a.writeEtc(n.node, first))
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
	if a.page.problem(about, sentence) && err != nil {
		a.say("node", "%v", err)
	}
}

func (a *Agent) writeEtc(name string, l network.Lease) error {
	return errors.Join(
		status.Replace(a.Root+"/etc/hostname", []byte(name+"\n")),
		status.Replace(a.Root+"/etc/hosts", []byte(node.Hosts(name, l.Address.Addr()))),
		status.Replace(a.Root+"/etc/resolv.conf", []byte(node.Resolv(l.DNS, l.Search))))
}

// address is where others find mongod, as far as is known.
func (a *Agent) address() string {
	a.naming.mu.Lock()
	defer a.naming.mu.Unlock()
	ip := netip.MustParseAddr("127.0.0.1")
	if len(a.naming.leases) > 0 {
		ip = a.naming.leases[0].lease.Address.Addr()
	}
	return netip.AddrPortFrom(ip, uint16(a.page.read().Mongod.Port)).String()
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
