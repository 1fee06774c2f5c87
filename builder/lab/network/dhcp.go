package network

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/server4"
	"github.com/insomniacslk/dhcp/rfc1035label"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const lease = time.Hour

// serveDHCP gives each seat its own address, and strangers none. It sends gateway, resolver, search list, MTU and time server, but no hostname.
func (n *Network) serveDHCP(seats []Seat) error {
	if n.offers.DHCPSilent {
		return nil
	}
	conn, err := n.listenBroadcast(67)
	if err != nil {
		return fmt.Errorf("DHCP: %w", err)
	}
	byMAC := map[string]net.IP{}
	for _, s := range seats {
		byMAC[s.MAC] = net.ParseIP(s.IP)
	}
	server, err := server4.NewServer("", nil, func(conn net.PacketConn, peer net.Addr, m *dhcpv4.DHCPv4) {
		if reply := n.reply(m, byMAC[m.ClientHWAddr.String()]); reply != nil {
			conn.WriteTo(reply.ToBytes(), peer) // a reply that is lost is asked for again
		}
	}, server4.WithConn(conn))
	if err != nil {
		conn.Close()
		return fmt.Errorf("DHCP: %w", err)
	}
	n.ends = append(n.ends, server)
	n.all.Go(func() { server.Serve() }) // ends with an error when closed
	return nil
}

func (n *Network) listenBroadcast(port uint16) (net.PacketConn, error) {
	var queue waiter.Queue
	end, err := n.stack.NewEndpoint(udp.ProtocolNumber, ipv4.ProtocolNumber, &queue)
	if err != nil {
		return nil, errors.New(err.String())
	}
	end.SocketOptions().SetBroadcast(true)
	if err := end.Bind(tcpip.FullAddress{NIC: 1, Port: port}); err != nil {
		end.Close()
		return nil, errors.New(err.String())
	}
	return gonet.NewUDPConn(&queue, end), nil
}

// reply answers a discovery or a request; nil answers nothing.
func (n *Network) reply(m *dhcpv4.DHCPv4, ip net.IP) *dhcpv4.DHCPv4 {
	answers := map[dhcpv4.MessageType]dhcpv4.MessageType{dhcpv4.MessageTypeDiscover: dhcpv4.MessageTypeOffer, dhcpv4.MessageTypeRequest: dhcpv4.MessageTypeAck}
	kind, known := answers[m.MessageType()]
	if ip == nil || !known {
		return nil
	}
	router := net.ParseIP(Gateway)
	reply, err := dhcpv4.NewReplyFromRequest(m, dhcpv4.WithYourIP(ip), dhcpv4.WithMessageType(kind), dhcpv4.WithOption(dhcpv4.OptServerIdentifier(router)),
		dhcpv4.WithLeaseTime(uint32(lease/time.Second)), dhcpv4.WithNetmask(net.CIDRMask(24, 32)), dhcpv4.WithRouter(router), dhcpv4.WithDNS(router),
		dhcpv4.WithOption(dhcpv4.Option{Code: dhcpv4.OptionInterfaceMTU, Value: dhcpv4.Uint16(n.offers.MTU)}),
		dhcpv4.WithOption(dhcpv4.OptDomainSearch(&rfc1035label.Labels{Labels: []string{Domain}})))
	if err != nil {
		return nil // of a message that makes no sense
	}
	if !n.offers.NTPUntold {
		reply.UpdateOption(dhcpv4.OptNTPServers(router))
	}
	return reply
}
