package network

import (
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
)

// serveTime answers NTP on the gateway by this machine's clock.
func (n *Network) serveTime() error {
	conn, err := gonet.DialUDP(n.stack, &tcpip.FullAddress{NIC: 1, Addr: address(Gateway), Port: 123}, nil, ipv4.ProtocolNumber)
	if err != nil {
		return fmt.Errorf("NTP: %w", err)
	}
	n.ends = append(n.ends, conn)
	n.all.Go(func() { n.tellTime(conn) })
	return nil
}

func (n *Network) tellTime(conn net.PacketConn) {
	buffer := make([]byte, 512)
	for {
		length, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return // closed
		}
		if reply := ntpReply(buffer[:length], time.Now().Add(n.offers.Ahead)); reply != nil && !n.offers.NTPSilent {
			conn.WriteTo(reply, from)
		}
	}
}

// ntpReply answers a client as a server of stratum 2 that has just looked at its own (RFC 5905, 7.3); nil to anything else.
//
//	0 leap, version, mode | 1 stratum | 2 poll | 3 precision | 4 root delay | 8 root dispersion | 12 reference | 16, 24, 32, 40 times: set, asked, received, sent
func ntpReply(question []byte, now time.Time) []byte {
	const client, server, stratum, precision = 3, 4, 2, -20
	if len(question) < 48 || question[0]&7 != client {
		return nil
	}
	p := precision
	b := make([]byte, 48)
	b[0], b[1], b[2], b[3] = question[0]&0x38|server, stratum, question[2], byte(p)
	binary.BigEndian.PutUint32(b[8:], 66) // 1 ms in units of 1/65536 s
	copy(b[12:], net.ParseIP(Gateway).To4())
	copy(b[24:], question[40:48])
	for _, at := range []int{16, 32, 40} {
		binary.BigEndian.PutUint64(b[at:], ntpTime(now))
	}
	return b
}

// ntpTime is seconds since 1900 in 32 bits and their fraction in 32 more.
func ntpTime(t time.Time) uint64 {
	const from1900 = 2208988800
	return uint64(t.Unix()+from1900)<<32 | uint64(t.Nanosecond())<<32/1e9
}
