package network

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

// computer is a node without a machine: an IP stack of its own at the end of a cable that frames as QEMU does (length in 32 bits, big endian).
type computer struct {
	stack *stack.Stack
	cable net.Conn
}

func plug(t *testing.T, n *Network, seat Seat) *computer {
	t.Helper()
	theirs, ours := net.Pipe()
	n.Plug(theirs)
	mac, err := net.ParseMAC(seat.MAC)
	if err != nil {
		t.Fatal(err)
	}
	link := channel.New(256, jumboMTU, tcpip.LinkAddress(mac))
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol},
	})
	if err := s.CreateNIC(1, ethernet.New(link)); err != nil {
		t.Fatal(err)
	}
	own := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: tcpip.AddressWithPrefix{Address: address(seat.IP), PrefixLen: 24}}
	if err := s.AddProtocolAddress(1, own, stack.AddressProperties{}); err != nil {
		t.Fatal(err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: own.AddressWithPrefix.Subnet(), NIC: 1}, {Destination: header.IPv4EmptySubnet, Gateway: address(Gateway), NIC: 1}})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			packet := link.ReadContext(ctx)
			if packet == nil {
				return
			}
			frame := packet.ToView().AsSlice()
			if _, err := ours.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)); err != nil {
				return
			}
			packet.DecRef()
		}
	}()
	go func() {
		for {
			var size [4]byte
			if _, err := io.ReadFull(ours, size[:]); err != nil {
				return
			}
			frame := make([]byte, binary.BigEndian.Uint32(size[:]))
			if _, err := io.ReadFull(ours, frame); err != nil {
				return
			}
			link.InjectInbound(0, stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(frame)}))
		}
	}()
	t.Cleanup(func() { cancel(); ours.Close(); s.Close() })
	return &computer{s, ours}
}

const (
	patient = 20 * time.Second
	hasty   = 300 * time.Millisecond // an answer takes 1 ms
)

func (c *computer) dial(ip string, port uint16, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return gonet.DialContextTCP(ctx, c.stack, tcpip.FullAddress{NIC: 1, Addr: address(ip), Port: port}, ipv4.ProtocolNumber)
}

// echo answers every connection with what it is sent, until its end.
func (c *computer) echo(t *testing.T, ip string, port uint16) {
	t.Helper()
	l, err := gonet.ListenTCP(c.stack, tcpip.FullAddress{NIC: 1, Addr: address(ip), Port: port}, ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(conn, conn); conn.Close() }()
		}
	}()
}

func (c *computer) ask(t *testing.T, name string) (string, int) {
	t.Helper()
	conn, err := gonet.DialUDP(c.stack, nil, &tcpip.FullAddress{NIC: 1, Addr: address(Gateway), Port: 53}, ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	question := new(dns.Msg).SetQuestion(name, dns.TypeA)
	got, _, err := (&dns.Client{Timeout: 5 * time.Second}).ExchangeWithConn(question, &dns.Conn{Conn: conn})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Answer) != 1 {
		return "", got.Rcode
	}
	return got.Answer[0].(*dns.A).A.String(), got.Rcode
}

func start(t *testing.T, names ...string) (*Network, []Seat) {
	t.Helper()
	var seats []Seat
	for i, name := range names {
		seats = append(seats, At(i, name))
	}
	n, err := New(seats, Offers{})
	if err != nil {
		t.Fatal(err)
	}
	return n, seats
}

func TestNodesReachEachOtherAndNothingElse(t *testing.T) {
	n, seats := start(t, "a", "b")
	defer n.Close()
	a, b := plug(t, n, seats[0]), plug(t, n, seats[1])
	b.echo(t, seats[1].IP, 7000)
	conn, err := a.dial(seats[1].IP, 7000, patient)
	if err != nil {
		t.Fatalf("a to b: %v", err)
	}
	conn.Close()

	outside, err := net.Listen("tcp", "127.0.0.1:0") // what a NAT would reach
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	port := uint16(outside.Addr().(*net.TCPAddr).Port)
	for _, ip := range []string{"192.0.2.1", "127.0.0.1", "169.254.169.254", "10.5.0.254"} {
		if conn, err := a.dial(ip, port, hasty); err == nil {
			conn.Close()
			t.Errorf("a reached %s:%d", ip, port)
		}
	}
	if conn, err := a.dial(Gateway, port, hasty); err == nil {
		conn.Close()
		t.Errorf("a reached port %d of this machine by the gateway", port)
	}
}

func TestNamesOfNodesAndOfNothingElse(t *testing.T) {
	n, seats := start(t, "a", "b")
	defer n.Close()
	a := plug(t, n, seats[0])
	for _, c := range []struct {
		name, want string
		code       int
	}{
		{"b.lab.internal.", "10.5.0.12", dns.RcodeSuccess},
		{"b.", "10.5.0.12", dns.RcodeSuccess},
		{"c.lab.internal.", "", dns.RcodeNameError},
		{"localhost.", "", dns.RcodeNameError},
		{"example.org.", "", dns.RcodeNameError},
	} {
		if got, code := a.ask(t, c.name); got != c.want || code != c.code {
			t.Errorf("%s: got %q, code %d; want %q, %d", c.name, got, code, c.want, c.code)
		}
	}
}

func TestAForwardCarriesBothWaysToTheEnd(t *testing.T) {
	n, seats := start(t, "a")
	defer n.Close()
	address, err := n.Forward(seats[0].IP, 7000)
	if err != nil {
		t.Fatal(err)
	}
	plug(t, n, seats[0]).echo(t, seats[0].IP, 7000)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	sent := strings.Repeat("0123456789", 20000)
	go func() { io.WriteString(conn, sent); conn.(*net.TCPConn).CloseWrite() }()
	got, err := io.ReadAll(conn)
	if err != nil || string(got) != sent {
		t.Errorf("got %d bytes, %v; want the %d sent", len(got), err, len(sent))
	}
}

func TestANodeThatTakesNoFramesStallsNobody(t *testing.T) {
	n, seats := start(t, "a", "b", "stuck")
	defer n.Close()
	a, b := plug(t, n, seats[0]), plug(t, n, seats[1])
	b.echo(t, seats[1].IP, 7000)
	theirs, ours := net.Pipe() // nobody reads it
	defer ours.Close()
	n.Plug(theirs)
	hello := append([]byte{0, 0, 0, 60}, make([]byte, 60)...) // one frame, so that the switch knows the node
	mac, _ := net.ParseMAC(seats[2].MAC)
	copy(hello[4:], "\xff\xff\xff\xff\xff\xff")
	copy(hello[10:], mac)
	if _, err := ours.Write(hello); err != nil {
		t.Fatal(err)
	}
	for i := range 5 { // an ARP broadcast each goes to the stuck one, too
		if conn, err := a.dial(At(50+i, "").IP, 1, hasty); err == nil {
			conn.Close()
			t.Error("reached a node that is not there")
		}
	}
	conn, err := a.dial(seats[1].IP, 7000, patient)
	if err != nil {
		t.Fatalf("a to b: %v", err)
	}
	conn.Close()
}

func TestCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	n, seats := start(t, "a")
	address, err := n.Forward(seats[0].IP, 7000)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address) // carried nowhere yet
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	theirs, ours := net.Pipe()
	n.Plug(theirs)
	began := time.Now()
	n.Close()
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
	ours.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the cable: got %v; want it cut", err)
	}
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("the forwarded port still takes connections")
	}
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before+1 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	if after := runtime.NumGoroutine(); after > before+1 { // gVisor keeps one for all its stacks
		stacks := make([]byte, 1<<16)
		t.Errorf("%d goroutines before, %d after\n%s", before, after, stacks[:runtime.Stack(stacks, true)])
	}
}
