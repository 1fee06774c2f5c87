// Package network is the lab's private Ethernet: a switch, DHCP and names for the nodes, and ports forwarded from 127.0.0.1, all inside this process
// and without root.
//
// It is put together from the pieces of gvisor-tap-vsock and not by its virtualnetwork.New, because that one dials out to wherever a guest wants to
// go. Here nothing leads outside: a packet to a stranger is dropped and an unknown name does not exist, so a boot in the lab depends on nothing but the
// image. IPv4 only. The gateway is DHCP, name and time server in one; what it offers can be spoilt, to see what nodes make of it.
package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/containers/gvisor-tap-vsock/pkg/services/dns"
	"github.com/containers/gvisor-tap-vsock/pkg/tap"
	"github.com/containers/gvisor-tap-vsock/pkg/types"
	"github.com/sirupsen/logrus"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

// Domain is the nodes' search domain; the bare names resolve too.
const Domain = "lab.internal"

// Gateway is DHCP, name and time server in one.
const Gateway = "10.5.0.1"

const (
	subnet     = "10.5.0.0/24"
	gatewayMAC = "5a:94:ef:e4:0c:dd"
)

// Offers is what the network has for its nodes. The zero value is a well-kept one: DHCP, names, a right clock, jumbo frames for who wants them.
type Offers struct {
	DHCPSilent bool          // nobody gives addresses
	NTPSilent  bool          // the gateway takes questions about the time and answers none
	NTPUntold  bool          // DHCP says of no time server (option 42)
	Ahead      time.Duration // of the gateway's clock to this machine's
	MTU        int           // that DHCP says; 1500
	Carries    int           // the largest packet that gets through; 9216
}

// The usual numbers: of Ethernet, and of the jumbo frames of most switches.
const usualMTU, jumboMTU = 1500, 9216

func (o Offers) complete() Offers {
	if o.MTU == 0 {
		o.MTU = usualMTU
	}
	if o.Carries == 0 {
		o.Carries = jumboMTU
	}
	return o
}

// Seats is how many nodes fit.
const Seats = 200

// Seat is a place at the switch. IP and MAC follow from its number.
type Seat struct {
	Name string
	IP   string // 10.5.0.11 and up
	MAC  string
}

// At is the seat of the node with this number, 0 to Seats-1.
func At(number int, name string) Seat {
	return Seat{Name: name, IP: fmt.Sprintf("10.5.0.%d", 11+number), MAC: fmt.Sprintf("52:54:00:05:00:%02x", 11+number)}
}

// Network is a running switch.
type Network struct {
	offers Offers
	stack  *stack.Stack
	ports  *tap.Switch
	end    chan struct{} // closed with the network
	all    sync.WaitGroup
	ends   []io.Closer // closed last first
}

// New starts a network for these seats. Close ends it.
func New(seats []Seat, offers Offers) (*Network, error) {
	offers = offers.complete()
	// The library logs every node that is switched off as an error on the standard logger; what is worth knowing the lab says itself.
	logrus.SetOutput(io.Discard)
	link, err := tap.NewLinkEndpoint(false, uint32(offers.Carries), gatewayMAC, Gateway, strangers())
	if err != nil {
		return nil, fmt.Errorf("make the lab's gateway: %w", err)
	}
	n := &Network{offers: offers, ports: tap.NewSwitch(false), end: make(chan struct{})}
	link.Connect(n.ports)
	n.ports.Connect(narrow{link, offers.Carries})
	if n.stack, err = newStack(link); err == nil {
		err = errors.Join(n.serveDHCP(seats), n.serveNames(seats), n.serveTime())
	}
	if err != nil {
		n.Close()
		return nil, fmt.Errorf("start the lab's network: %w", err)
	}
	return n, nil
}

// newStack is the gateway's IP stack: one address, one route, no forwarding between networks and no answer for addresses of others.
func newStack(link stack.LinkEndpoint) (*stack.Stack, error) {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4},
	})
	if err := s.CreateNIC(1, link); err != nil {
		return nil, errors.New(err.String())
	}
	own := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: address(Gateway).WithPrefix()}
	if err := s.AddProtocolAddress(1, own, stack.AddressProperties{}); err != nil {
		return nil, errors.New(err.String())
	}
	_, cidr, err := net.ParseCIDR(subnet)
	if err != nil {
		return nil, err
	}
	to, err := tcpip.NewSubnet(tcpip.AddrFromSlice(cidr.IP), tcpip.MaskFromBytes(cidr.Mask))
	if err != nil {
		return nil, err
	}
	s.SetRouteTable([]tcpip.Route{{Destination: to, NIC: 1}})
	return s, nil
}

func address(ip string) tcpip.Address { return tcpip.AddrFrom4Slice(net.ParseIP(ip).To4()) }

func (n *Network) serveNames(seats []Seat) error {
	at := tcpip.FullAddress{NIC: 1, Addr: address(Gateway), Port: 53}
	packets, err := gonet.DialUDP(n.stack, &at, nil, ipv4.ProtocolNumber)
	if err != nil {
		return fmt.Errorf("DNS: %w", err)
	}
	n.ends = append(n.ends, packets)
	streams, err := gonet.ListenTCP(n.stack, at, ipv4.ProtocolNumber)
	if err != nil {
		return fmt.Errorf("DNS: %w", err)
	}
	n.ends = append(n.ends, streams)
	zone := types.Zone{Name: Domain + "."}
	bare := names{}
	for _, s := range seats {
		zone.Records = append(zone.Records, types.Record{Name: s.Name, IP: net.ParseIP(s.IP)})
		bare[s.Name+"."] = net.ParseIP(s.IP)
	}
	server, err := dns.NewWithUpstreamResolver(packets, streams, []types.Zone{zone}, bare)
	if err != nil {
		return fmt.Errorf("DNS: %w", err)
	}
	n.all.Go(func() { server.Serve() })
	n.all.Go(func() { server.ServeTCP() })
	return nil
}

// Dial opens a TCP connection to a node from the gateway.
func (n *Network) Dial(ctx context.Context, ip string, port uint16) (net.Conn, error) {
	to := tcpip.FullAddress{NIC: 1, Addr: address(ip), Port: port}
	conn, err := gonet.DialContextTCP(ctx, n.stack, to, ipv4.ProtocolNumber)
	if err != nil {
		return nil, fmt.Errorf("connect to %s:%d in the lab: %w", ip, port, err)
	}
	return conn, nil
}

// Close ends all ports, forwards and servers. It is called once.
func (n *Network) Close() {
	close(n.end)
	for i := len(n.ends) - 1; i >= 0; i-- {
		n.ends[i].Close()
	}
	if n.stack != nil {
		n.stack.Close()
	}
	done := make(chan struct{})
	go func() { n.all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second): // a library that hangs must not keep the lab from ending its nodes
	}
}
