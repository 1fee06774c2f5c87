// Package probe asks the wire what nobody tells a node: who else has its address or its name, and how large a packet gets through.
//
// Each question is one function with its own deadline; what answers is read by deciders that take bytes. It needs root, for raw sockets.
package probe

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/mdlayher/packet"
)

const (
	etherARP = 0x0806
	request  = 1
	reply    = 2
)

var broadcast = packet.Addr{HardwareAddr: net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}

// Three probes, as RFC 5227, 2.1.1 has it, but closer together: a node behind a cable has no wireless neighbours that sleep.
const (
	probes = 3
	apart  = 300 * time.Millisecond
)

// Address asks whether another machine on the link has an address, and gives its MAC address, nil when nobody answers within a second.
func Address(ctx context.Context, link string, address netip.Addr) (net.HardwareAddr, error) {
	in, conn, err := open(link)
	if err != nil {
		return nil, fmt.Errorf("probe for %s: %w", address, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	for range probes {
		if _, err := conn.WriteTo(question(in.HardwareAddr, netip.IPv4Unspecified(), address), &broadcast); err != nil {
			return nil, fmt.Errorf("probe for %s: %w", address, err)
		}
		if owner := listen(conn, in.HardwareAddr, address); owner != nil {
			return owner, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return nil, nil
}

// Announce tells the link that an address is here now, so that nobody sends to a machine that had it before.
func Announce(link string, address netip.Addr) error {
	in, conn, err := open(link)
	if err != nil {
		return fmt.Errorf("announce %s: %w", address, err)
	}
	defer conn.Close()
	if _, err := conn.WriteTo(question(in.HardwareAddr, address, address), &broadcast); err != nil {
		return fmt.Errorf("announce %s: %w", address, err)
	}
	return nil
}

func open(link string) (*net.Interface, *packet.Conn, error) {
	in, err := net.InterfaceByName(link)
	if err != nil {
		return nil, nil, err
	}
	conn, err := packet.Listen(in, packet.Datagram, etherARP, nil)
	return in, conn, err
}

// listen waits for a claim until the next probe is due.
func listen(conn *packet.Conn, own net.HardwareAddr, address netip.Addr) net.HardwareAddr {
	_ = conn.SetReadDeadline(time.Now().Add(apart))
	frame := make([]byte, 128)
	for {
		n, _, err := conn.ReadFrom(frame)
		if err != nil {
			return nil
		}
		if owner := claim(frame[:n], own, address); owner != nil {
			return owner
		}
	}
}

// question is an ARP request (RFC 826) for Ethernet and IPv4:
//
//	0 hardware 1 | 2 protocol 0800 | 4 lengths 6, 4 | 6 operation | 8 sender's MAC | 14 its IP | 18 target's MAC | 24 its IP
func question(mac net.HardwareAddr, from, to netip.Addr) []byte {
	b := []byte{0, 1, 8, 0, 6, 4, 0, request}
	b = append(append(b, mac...), from.AsSlice()...)
	return append(append(b, 0, 0, 0, 0, 0, 0), to.AsSlice()...)
}

// claim reads a frame and gives who else has the address, or is probing for it as well; nil if it is about something else.
func claim(frame []byte, own net.HardwareAddr, address netip.Addr) net.HardwareAddr {
	if len(frame) < 28 || !bytes.Equal(frame[:6], []byte{0, 1, 8, 0, 6, 4}) {
		return nil
	}
	sender, from, to := net.HardwareAddr(bytes.Clone(frame[8:14])), netip.AddrFrom4([4]byte(frame[14:18])), netip.AddrFrom4([4]byte(frame[24:28]))
	operation := binary.BigEndian.Uint16(frame[6:8])
	switch {
	case bytes.Equal(sender, own) || operation != request && operation != reply:
		return nil
	case from == address, operation == request && from.IsUnspecified() && to == address:
		return sender
	}
	return nil
}
