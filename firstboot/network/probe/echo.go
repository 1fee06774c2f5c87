package probe

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/ipv4"
)

// Pong is what came back.
type Pong struct {
	Came bool
	Most int        // the largest packet that a router on the way takes, if one said so
	By   netip.Addr // that router
}

const echoes = time.Second // within which an answer comes

// Echo sends one ICMP echo request of so many bytes, its IP header among them, that nobody on the way may cut in pieces. Without an answer within a second, Came is
// false.
func Echo(ctx context.Context, from, to netip.Addr, bytes int) (Pong, error) {
	p, err := echo(ctx, from, to, bytes)
	if err != nil {
		return p, fmt.Errorf("send %d bytes to %s: %w", bytes, to, err)
	}
	return p, nil
}

func echo(ctx context.Context, from, to netip.Addr, bytes int) (Pong, error) {
	socket, err := net.ListenPacket("ip4:icmp", from.String())
	if err != nil {
		return Pong{}, err
	}
	defer socket.Close()
	raw, err := ipv4.NewRawConn(socket)
	if err != nil {
		return Pong{}, err
	}
	stop := context.AfterFunc(ctx, func() { socket.Close() })
	defer stop()
	id := rand.N[uint32](1 << 31)
	h := ipv4.Header{Version: 4, Len: ipv4.HeaderLen, TotalLen: bytes, TTL: 64, Protocol: 1, Flags: ipv4.DontFragment, Src: from.AsSlice(), Dst: to.AsSlice()}
	if err := raw.WriteTo(&h, ping(id, bytes-ipv4.HeaderLen), nil); err != nil {
		return Pong{}, err
	}
	if err := raw.SetReadDeadline(time.Now().Add(echoes)); err != nil {
		return Pong{}, err
	}
	for buffer := make([]byte, 1<<16); ; {
		h, body, _, err := raw.ReadFrom(buffer)
		if err != nil {
			return Pong{}, context.Cause(ctx) // late, which is an answer, too
		}
		source, _ := netip.AddrFromSlice(h.Src.To4())
		if p, ours := answer(body, source, id); ours {
			return p, nil
		}
	}
}

// Types of ICMP messages (RFC 792), and the code by which a router says that a packet is too large for it (RFC 1191).
const (
	echoReply   = 0
	unreachable = 3
	tooLarge    = 4
	echoRequest = 8
)

// ping is an echo request with its identifier and sequence number in one.
func ping(id uint32, length int) []byte {
	b := make([]byte, length)
	b[0] = echoRequest
	binary.BigEndian.PutUint32(b[4:], id)
	binary.BigEndian.PutUint16(b[2:], checksum(b))
	return b
}

// answer reads an ICMP message; ours is false if it answers something else.
func answer(b []byte, from netip.Addr, id uint32) (p Pong, ours bool) {
	switch {
	case len(b) >= 8 && b[0] == echoReply && binary.BigEndian.Uint32(b[4:]) == id:
		return Pong{Came: true}, true
	case len(b) >= 8+ipv4.HeaderLen+8 && b[0] == unreachable && b[1] == tooLarge:
		sent := b[8+ipv4.HeaderLen:] // by us, without options
		return Pong{Most: int(binary.BigEndian.Uint16(b[6:])), By: from}, sent[0] == echoRequest && binary.BigEndian.Uint32(sent[4:]) == id
	}
	return Pong{}, false
}

// checksum is the Internet's (RFC 1071).
func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	if len(b)%2 == 1 {
		sum += uint32(b[len(b)-1]) << 8
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
