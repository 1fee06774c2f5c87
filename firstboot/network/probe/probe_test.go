package probe

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

var (
	own   = net.HardwareAddr{0x52, 0x54, 0, 0, 0, 1}
	other = net.HardwareAddr{0x52, 0x54, 0, 0, 0, 2}
	ours  = netip.MustParseAddr("192.0.2.11")
	none  = netip.IPv4Unspecified()
)

func TestWhoClaimsAnAddress(t *testing.T) {
	answer := question(other, ours, none)
	answer[7] = reply
	for _, c := range []struct {
		name  string
		frame []byte
		taken bool
	}{
		{"an answer", answer, true},
		{"a request of its holder", question(other, ours, netip.MustParseAddr("192.0.2.1")), true},
		{"a probe of another that wants it as well", question(other, none, ours), true},
		{"our own probe", question(own, none, ours), false},
		{"a probe for another address", question(other, none, netip.MustParseAddr("192.0.2.12")), false},
		{"somebody who asks us", question(other, netip.MustParseAddr("192.0.2.1"), ours), false},
		{"half a frame", answer[:20], false},
	} {
		if got := claim(c.frame, own, ours); (got != nil) != c.taken || got != nil && got.String() != other.String() {
			t.Errorf("%s: got %s, want taken %v", c.name, got, c.taken)
		}
	}
}

func TestAnswersToAnEcho(t *testing.T) {
	router := netip.MustParseAddr("192.0.2.1")
	pong := ping(7, 100)
	pong[0] = echoReply
	refused := append(make([]byte, 8+20), ping(7, 64)[:8]...)
	refused[0], refused[1] = unreachable, tooLarge
	binary.BigEndian.PutUint16(refused[6:], 1500)
	for _, c := range []struct {
		name string
		body []byte
		id   uint32
		want Pong
		ours bool
	}{
		{"it came", pong, 7, Pong{Came: true}, true},
		{"another's", pong, 8, Pong{}, false},
		{"our own request, seen on the loopback", ping(7, 100), 7, Pong{}, false},
		{"a router's refusal", refused, 7, Pong{Most: 1500, By: router}, true},
		{"cut short", refused[:20], 7, Pong{}, false},
	} {
		if got, is := answer(c.body, router, c.id); is != c.ours || is && got != c.want {
			t.Errorf("%s: got %+v, %v", c.name, got, is)
		}
	}
}

// The loopback interface carries 64 KiB and answers.
func TestEchoOnTheLoopback(t *testing.T) {
	lo := netip.MustParseAddr("127.0.0.1")
	for _, bytes := range []int{64, 9001, 65000} {
		if got, err := Echo(t.Context(), lo, lo, bytes); err != nil || !got.Came {
			t.Errorf("%d bytes: got %+v, %v (it needs root)", bytes, got, err)
		}
	}
	if _, err := Echo(t.Context(), netip.MustParseAddr("192.0.2.77"), lo, 64); err == nil || !strings.HasPrefix(err.Error(), "send 64 bytes to 127.0.0.1: ") {
		t.Errorf("from an address that is not ours: got %v", err)
	}
}

func TestLinkThatIsNotThere(t *testing.T) {
	if _, err := Address(t.Context(), "none0", ours); err == nil || !strings.HasPrefix(err.Error(), "probe for 192.0.2.11: ") {
		t.Errorf("on no link: got %v", err)
	}
}

// The server is miekg/dns, on the loopback.
func TestNamesAreAskedOfOneServer(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		switch q.Question[0].Name {
		case "db1.lab.internal.":
			record, _ := dns.NewRR("db1.lab.internal. 60 IN A 192.0.2.11")
			m.Answer = append(m.Answer, record)
		case "ill.":
			m.Rcode = dns.RcodeServerFailure
		default:
			m.Rcode = dns.RcodeNameError
		}
		_ = w.WriteMsg(m)
	})}
	go server.ActivateAndServe()
	t.Cleanup(func() { _ = server.Shutdown() })
	at := netip.MustParseAddrPort(conn.LocalAddr().String())
	for name, want := range map[string][]netip.Addr{"db1.lab.internal": {ours}, "db2": nil} {
		if got, err := Name(t.Context(), at, name); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v; want %v", name, got, err, want)
		}
	}
	if _, err := Name(t.Context(), at, "ill"); err == nil || !strings.Contains(err.Error(), "ServerFailure") {
		t.Errorf("a server that fails: got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if _, err := Name(ctx, netip.MustParseAddrPort(silent.LocalAddr().String()), "db1"); err == nil {
		t.Error("a silent server: want an error")
	}
}
