package network

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/beevik/ntp"
	"github.com/insomniacslk/dhcp/dhcpv4"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
)

func open(t *testing.T, o Offers, names ...string) (*Network, []Seat) {
	t.Helper()
	var seats []Seat
	for i, name := range names {
		seats = append(seats, At(i, name))
	}
	n, err := New(seats, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n, seats
}

// asks is an NTP client (beevik/ntp) on a node.
func (c *computer) asks() (*ntp.Response, error) {
	return ntp.QueryWithOptions(Gateway, ntp.QueryOptions{Timeout: 2 * time.Second, Dialer: func(string, string) (net.Conn, error) {
		return gonet.DialUDP(c.stack, nil, &tcpip.FullAddress{NIC: 1, Addr: address(Gateway), Port: 123}, ipv4.ProtocolNumber)
	}})
}

func TestGatewayKnowsTheTime(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Hour} {
		n, seats := open(t, Offers{Ahead: ahead}, "a")
		got, err := plug(t, n, seats[0]).asks()
		if err == nil {
			err = got.Validate()
		}
		if err != nil {
			t.Fatal(err)
		}
		if off := got.ClockOffset - ahead; off.Abs() > time.Second || got.Stratum != 2 {
			t.Errorf("%s ahead: got %s, stratum %d", ahead, got.ClockOffset, got.Stratum)
		}
	}
}

func TestGatewayThatDoesNotKnowTheTimeIsSilent(t *testing.T) {
	n, seats := open(t, Offers{NTPSilent: true}, "a")
	if got, err := plug(t, n, seats[0]).asks(); err == nil {
		t.Errorf("got %+v", got)
	}
}

func TestLeaseSaysWhatTheNetworkOffers(t *testing.T) {
	mac, _ := net.ParseMAC(At(0, "a").MAC)
	discover, err := dhcpv4.NewDiscovery(mac)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		offers Offers
		want   string
	}{
		{"usual", Offers{}, "OFFER 10.5.0.11/24 by 10.5.0.1, DNS 10.5.0.1 [lab.internal], MTU 1500, NTP [10.5.0.1]"},
		{"an MTU, and no time server", Offers{MTU: 1400, NTPUntold: true}, "OFFER 10.5.0.11/24 by 10.5.0.1, DNS 10.5.0.1 [lab.internal], MTU 1400, NTP []"},
	} {
		n := Network{offers: c.offers.complete()}
		got := n.reply(discover, net.ParseIP("10.5.0.11"))
		bits, _ := got.SubnetMask().Size()
		mtu, _ := dhcpv4.GetUint16(dhcpv4.OptionInterfaceMTU, got.Options)
		said := fmt.Sprintf("%s %s/%d by %s, DNS %s %v, MTU %d, NTP %v", got.MessageType(), got.YourIPAddr, bits, got.Router()[0], got.DNS()[0], got.DomainSearch().Labels, mtu, got.NTPServers())
		if said != c.want {
			t.Errorf("%s: got %s, want %s", c.name, said, c.want)
		}
	}
	if n := (Network{}); n.reply(discover, nil) != nil {
		t.Error("a stranger is given an address")
	}
}

// Over TCP, which of itself sends packets as large as both ends take: here 9216.
func TestNetworkCarriesPacketsUpToItsSize(t *testing.T) {
	for _, c := range []struct {
		carries int
		passes  bool
	}{{0, true}, {1500, false}} {
		n, seats := open(t, Offers{Carries: c.carries}, "a", "b")
		a, b := plug(t, n, seats[0]), plug(t, n, seats[1])
		b.echo(t, seats[1].IP, 7000)
		conn, err := a.dial(seats[1].IP, 7000, patient)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(3 * time.Second))
		if _, err := conn.Write([]byte(strings.Repeat("x", 8000))); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 8000)); (err == nil) != c.passes {
			t.Errorf("of a network that carries %d: got %v", c.carries, err)
		}
	}
}

func TestSweepTellsOpenFromRefused(t *testing.T) {
	n, seats := open(t, Offers{}, "a")
	a := plug(t, n, seats[0])
	a.echo(t, seats[0].IP, 7000)
	if got, err := n.Sweep(t.Context(), "192.0.2.8", seats[0].IP, []int{7000}); fmt.Sprint(got) != "{[7000] []}" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	// From here on the gateway has the node's MAC address, so the node learns a caller's by its own question alone.
	for _, from := range []string{"10.5.0.250", "10.5.0.254", "192.0.2.9"} {
		for range 2 { // the address is given back
			got, err := n.Sweep(t.Context(), from, seats[0].IP, []int{6999, 7000, 7001})
			if fmt.Sprint(got) != "{[7000] [6999 7001]}" || err != nil {
				t.Errorf("from %s: got %v, %v", from, got, err)
			}
		}
	}
	if got, err := n.Sweep(t.Context(), "10.5.0.250", "10.5.0.77", []int{7000}); err == nil && len(got.Open)+len(got.Refused) > 0 {
		t.Errorf("where nobody is: got %v", got)
	}
}
