package network

import (
	"context"
	"net"

	"github.com/containers/gvisor-tap-vsock/pkg/tap"
	"github.com/containers/gvisor-tap-vsock/pkg/types"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// frames is how many Ethernet frames wait for a node before more are dropped, as a real switch would.
const frames = 1024

// Bytes before a packet: QEMU's length of the frame, Ethernet's header.
const lengthBytes, etherBytes = 4, 14

// narrow is the gateway at a port that takes no larger packets than the others.
type narrow struct {
	tap.VirtualDevice
	most int
}

// DeliverNetworkPacket takes a packet without its Ethernet header.
func (n narrow) DeliverNetworkPacket(protocol tcpip.NetworkProtocolNumber, packet *stack.PacketBuffer) {
	if packet.Size() <= n.most {
		n.VirtualDevice.DeliverNetworkPacket(protocol, packet)
	}
}

// Plug connects the cable of a node: the stream of a QEMU `-netdev stream`. It returns at once; the port ends with the connection.
func (n *Network) Plug(conn net.Conn) {
	p := &port{Conn: conn, most: lengthBytes + etherBytes + n.offers.Carries, queue: make(chan []byte, frames), end: make(chan struct{})}
	n.all.Go(p.send)
	n.all.Go(func() {
		defer close(p.end)
		n.ports.Accept(context.Background(), p, types.QemuProtocol) // returns, with an error, when the connection ends
	})
	n.all.Go(func() {
		select {
		case <-n.end:
			conn.Close()
		case <-p.end:
		}
	})
}

// port keeps the library's switch, which writes to all nodes under one lock, from two faults: a node that takes no frames (stopped, or busy under TCG) would
// stall all others, and a write to a node just killed would take its port away while frames from it are still being read, after which the switch dereferences nil.
// So Write only queues and never fails; the port ends when its reading side does.
type port struct {
	net.Conn
	most  int
	queue chan []byte
	end   chan struct{}
}

// Write takes one whole frame with its length before it. The switch makes a new slice for each. One that is too large is dropped, as a real switch would.
func (p *port) Write(frame []byte) (int, error) {
	if len(frame) > p.most {
		return len(frame), nil
	}
	select {
	case p.queue <- frame:
	default: // full: dropped
	}
	return len(frame), nil
}

func (p *port) send() {
	for {
		select {
		case <-p.end:
			return
		case frame := <-p.queue:
			if _, err := p.Conn.Write(frame); err != nil {
				<-p.end
				return
			}
		}
	}
}
