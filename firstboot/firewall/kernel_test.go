package firewall

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"grove/firstboot/network/probe"
)

// The rules in a kernel, between two machines that are network namespaces: the node and a stranger, who takes whatever address he likes.

type pair struct {
	node, stranger netns.NsHandle
}

const nodeIP = "10.5.0.11"

// wire makes the two, with a cable between them. The test keeps its thread.
func wire(t *testing.T) pair {
	t.Helper()
	const untried = "the rules are not tried in this kernel, neither what they let through nor that nft reads them as they are printed; make accept ONLY=a3.3 tries them in a node"
	if os.Getuid() != 0 {
		t.Skip("not root: " + untried)
	}
	if _, err := exec.LookPath("nft"); err != nil {
		t.Fatal("there is no nft to read the rules back; run scripts/setup-host")
	}
	runtime.LockOSThread() // and never unlock: the thread ends with the test
	home, err := netns.Get()
	must(t, err)
	var p pair
	if p.stranger, err = netns.New(); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("no network namespaces (%v): %s", err, untried)
	}
	must(t, err)
	p.node, err = netns.New()
	must(t, err)
	t.Cleanup(func() { _ = netns.Set(home); home.Close(); p.node.Close(); p.stranger.Close() })
	if out, err := exec.Command("nft", "list", "ruleset").CombinedOutput(); err != nil {
		t.Skipf("no nf_tables in this kernel (%s): %s", out, untried)
	}
	must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "peer", PeerNamespace: netlink.NsFd(p.stranger)}))
	setUp(t, "lo", "eth0")
	addAddress(t, "eth0", nodeIP+"/24")
	route(t, "eth0", "192.0.2.0/24")
	must(t, netns.Set(p.stranger))
	setUp(t, "lo", "peer")
	addAddress(t, "peer", "10.5.0.12/24")
	addAddress(t, "peer", "192.0.2.9/32")
	carrier(t, "peer")
	must(t, netns.Set(p.node))
	carrier(t, "eth0")
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func setUp(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		link, err := netlink.LinkByName(name)
		must(t, err)
		must(t, netlink.LinkSetUp(link))
	}
}

// carrier waits until the kernel sends packets into a cable, which it takes up to a second to begin with.
func carrier(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		link, err := netlink.LinkByName(name)
		must(t, err)
		if link.Attrs().OperState == netlink.OperUp {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s has no carrier", name)
		}
	}
}

func addAddress(t *testing.T, name, text string) {
	t.Helper()
	link, err := netlink.LinkByName(name)
	must(t, err)
	a, err := netlink.ParseAddr(text)
	must(t, err)
	must(t, netlink.AddrAdd(link, a))
}

func route(t *testing.T, name, text string) {
	t.Helper()
	link, err := netlink.LinkByName(name)
	must(t, err)
	_, to, err := net.ParseCIDR(text)
	must(t, err)
	must(t, netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: to}))
}

// in does something as one of the two.
func in(t *testing.T, ns netns.NsHandle, do func()) {
	t.Helper()
	before, err := netns.Get()
	must(t, err)
	defer before.Close()
	must(t, netns.Set(ns))
	defer func() { must(t, netns.Set(before)) }()
	do()
}

// listen serves nobody, but takes connections, as the namespace of now.
func listen(t *testing.T, ports ...int) {
	t.Helper()
	for _, port := range ports {
		l, err := net.Listen("tcp4", fmt.Sprintf(":%d", port))
		must(t, err)
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte("hello"))
				c.Close()
			}
		}()
	}
}

// hasty is far longer than a cable of no length takes.
const hasty = 400 * time.Millisecond

// dial says what becomes of a call: open, refused or silent.
func dial(from string, to string) string {
	local, err := net.ResolveTCPAddr("tcp4", from)
	if err != nil {
		return err.Error()
	}
	d := net.Dialer{Timeout: hasty, LocalAddr: local, Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) })
	}}
	conn, err := d.Dial("tcp4", to)
	switch {
	case err == nil:
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		if n, err := conn.Read(make([]byte, 5)); n != 5 {
			return fmt.Sprint("open, but nothing comes: ", err)
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
		return "open"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case isTimeout(err):
		return "silent"
	}
	return err.Error()
}

func isTimeout(err error) bool {
	var late net.Error
	return errors.As(err, &late) && late.Timeout()
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", program, args, err, out)
	}
	return string(out)
}

func TestKernelHasWhatIsPrinted(t *testing.T) {
	wire(t)
	for _, c := range cases {
		table := Decide(c.wanted)
		for range 2 { // over the one before, and over itself
			must(t, Load(t.Context(), table))
		}
		has := strings.ReplaceAll(run(t, "nft", "list", "ruleset"), "tcp flags & (syn | ack) != syn", "tcp flags != syn / syn,ack") // as newer ones have it
		if diff := cmp.Diff(table.String(), has); diff != "" {
			t.Errorf("%s: nft reads something else (+) than is printed (-): %s", c.name, diff)
		}
	}
}

func TestOnlyWhatIsOpenedAnswers(t *testing.T) {
	p := wire(t)
	listen(t, 27017, 22, 8080, 9999)
	must(t, Load(t.Context(), Decide(Wanted{Own: prefixes(nodeIP + "/24"), Mongod: 27017, SSH: 22})))
	for _, c := range []struct{ name, from, to, want string }{
		{"mongod, of the cluster", "10.5.0.12:0", nodeIP + ":27017", "open"},
		{"SSH, of the operator", "10.5.0.12:0", nodeIP + ":22", "open"},
		{"the page, which is not opened", "10.5.0.12:0", nodeIP + ":8080", "silent"},
		{"what listens and nobody opened", "10.5.0.12:0", nodeIP + ":9999", "silent"},
		{"where nobody listens", "10.5.0.12:0", nodeIP + ":7", "silent"},
		{"mongod, from elsewhere", "192.0.2.9:0", nodeIP + ":27017", "silent"},
		{"SSH, from elsewhere", "192.0.2.9:0", nodeIP + ":22", "silent"},
		{"what nobody opened, from mongod's port", "10.5.0.12:27017", nodeIP + ":9999", "silent"},
		{"the same from elsewhere", "192.0.2.9:27017", nodeIP + ":9999", "silent"},
	} {
		in(t, p.stranger, func() {
			if got := dial(c.from, c.to); got != c.want {
				t.Errorf("%s: got %s; want %s", c.name, got, c.want)
			}
		})
	}
	in(t, p.stranger, func() { listen(t, 27017, 5000) })
	for name, to := range map[string]string{"another member": "10.5.0.12:27017", "anything else": "10.5.0.12:5000", "a mongod beyond the cluster": "192.0.2.9:27017", "itself": nodeIP + ":9999", "its loopback": "127.0.0.1:9999"} {
		if got := dial(":0", to); got != "open" {
			t.Errorf("the node calls %s: got %s; want open", name, got)
		}
	}
	for _, way := range []struct {
		ns       netns.NsHandle
		from, to string
	}{{p.node, nodeIP, "10.5.0.12"}, {p.stranger, "10.5.0.12", nodeIP}, {p.stranger, "192.0.2.9", nodeIP}} {
		in(t, way.ns, func() {
			if pong, err := probe.Echo(t.Context(), netip.MustParseAddr(way.from), netip.MustParseAddr(way.to), 100); !pong.Came || err != nil {
				t.Errorf("ping from %s to %s: %+v, %v", way.from, way.to, pong, err)
			}
		})
	}
	others := 0
	for line := range strings.Lines(run(t, "cat", "/proc/net/nf_conntrack")) {
		if strings.Contains(line, "port=27017 ") && strings.Contains(line, "=10.5.0.12 ") {
			t.Errorf("a connection of mongod's within the cluster is in the kernel's list: %s", line)
		} else if strings.Contains(line, " tcp ") && strings.Contains(line, "dst=192.0.2.9 ") || strings.Contains(line, "dport=5000 ") {
			others++
		}
	}
	if others != 2 {
		t.Errorf("of the connections that belong there, %d are in the kernel's list; want 2", others)
	}
}

// A router says that a packet of mongod's is too large. The kernel knows no such connection, as it is in no list, and must hear it nonetheless.
func TestWhatRoutersSayOfMongodsPacketsIsHeard(t *testing.T) {
	p := wire(t)
	must(t, Load(t.Context(), Decide(Wanted{Own: prefixes(nodeIP + "/24"), Mongod: 27017})))
	inner := append([]byte{0x45, 0, 5, 220, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 5, 0, 11, 10, 5, 0, 12}, 0x69, 0x89, 0x9c, 0x40, 0, 0, 0, 1) // 10.5.0.11:27017 to 10.5.0.12:40000
	tooLarge := append([]byte{3, 4, 0, 0, 0, 0, 5, 120}, inner...)                                                                       // at most 1400 bytes
	binary.BigEndian.PutUint16(inner[10:], checksum(inner[:20]))
	copy(tooLarge[8:], inner)
	binary.BigEndian.PutUint16(tooLarge[2:], checksum(tooLarge))
	heard := func() (n int) {
		for line := range strings.Lines(run(t, "cat", "/proc/net/snmp")) {
			_, _ = fmt.Sscanf(line, "IcmpMsg: %d", &n)
		}
		return n
	}
	before := heard()
	in(t, p.stranger, func() {
		c, err := net.ListenPacket("ip4:icmp", "10.5.0.12")
		must(t, err)
		defer c.Close()
		_, err = c.WriteTo(tooLarge, &net.IPAddr{IP: net.ParseIP(nodeIP)})
		must(t, err)
	})
	for deadline := time.Now().Add(3 * time.Second); heard() == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is dropped")
		}
	}
}

// checksum of RFC 1071, of an even number of bytes.
func checksum(data []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(data); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(data[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// The rules are replaced while a stranger calls all the time: if there were a moment without rules, a port that nobody opened would answer with a refusal.
func TestReplacingOpensNoGap(t *testing.T) {
	p := wire(t)
	tables := []Table{Decide(Wanted{Own: prefixes(nodeIP + "/24"), Mongod: 27017}), Decide(Wanted{Own: prefixes(nodeIP+"/24", "192.0.2.1/24"), Mongod: 27017, SSH: 22})}
	must(t, Load(t.Context(), tables[0]))
	ended, answers, calls := make(chan struct{}), make(chan string, 1), make(chan int, 1)
	go func() {
		runtime.LockOSThread()
		_ = netns.Set(p.stranger)
		got, n := "", 0
		for {
			select {
			case <-ended:
				answers <- got
				calls <- n
				return
			default:
			}
			c, err := (&net.Dialer{Timeout: 2 * time.Millisecond}).Dial("tcp4", nodeIP+":9999")
			if n++; err == nil {
				c.Close()
				got = "open"
			} else if errors.Is(err, syscall.ECONNREFUSED) {
				got = "refused"
			}
		}
	}()
	for i := range 300 {
		must(t, Load(t.Context(), tables[i%2]))
	}
	close(ended)
	if got, n := <-answers, <-calls; got != "" || n < 50 {
		t.Errorf("%d calls, one was answered: %q", n, got)
	}
}
