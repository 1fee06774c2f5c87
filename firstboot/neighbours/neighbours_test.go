package neighbours

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"grove/firstboot/network/probe"
)

// net is a fake network: what the name server says, who answers, and to packets of which size at the most.
type net struct {
	names   map[string]string
	ill     bool
	answers map[string]int
}

func (n net) wire() Wire {
	return Wire{
		Echo: func(_ context.Context, _, to netip.Addr, bytes int) (probe.Pong, error) {
			return probe.Pong{Came: bytes <= n.answers[to.String()]}, nil
		},
		Name: func(_ context.Context, _ netip.AddrPort, name string) ([]netip.Addr, error) {
			switch at, has := n.names[name]; {
			case n.ill:
				return nil, errors.New("refused")
			case has:
				return []netip.Addr{netip.MustParseAddr(at)}, nil
			}
			return nil, nil
		},
	}
}

func db1() Self {
	own := netip.MustParsePrefix("10.5.0.11/24")
	router := netip.MustParseAddr("10.5.0.1")
	return Self{Name: "db1", Link: "eth0", Address: own, Router: router, MTU: 9001, Own: []netip.Addr{own.Addr()}, DNS: []netip.Addr{router}, Search: []string{"lab.internal"}}
}

func TestNameThatAnotherHas(t *testing.T) {
	for _, c := range []struct {
		name  string
		net   net
		hosts map[string]string
		want  string
	}{
		{"nobody knows the name", net{}, nil, ""},
		{"it is ours", net{names: map[string]string{"db1.lab.internal": "10.5.0.11"}}, nil, ""},
		{"the server is ill", net{ill: true}, nil, ""},
		{"another answers", net{names: map[string]string{"db1.lab.internal": "10.5.0.12"}, answers: map[string]int{"10.5.0.12": 1500}}, nil,
			"another machine, 10.5.0.12, is called db1.lab.internal as well, says the name server 10.5.0.1; give one of the two another hostname"},
		{"an old entry, known by the bare name", net{names: map[string]string{"db1": "10.5.0.12"}}, nil,
			"the name server 10.5.0.1 says that db1 is 10.5.0.12, which is not this node and does not answer; others will not find this node by its name"},
		{"the server has one address for all names", net{names: map[string]string{"db1.lab.internal": "10.5.0.12", "grove-has-no-such-name.lab.internal": "10.5.0.12"}}, nil, ""},
		{"the server calls us localhost", net{names: map[string]string{"db1": "127.0.1.1"}}, nil, ""},
		{"the settings name us elsewhere", net{}, map[string]string{"db1": "10.5.0.13"},
			"network.hosts says that db1 is 10.5.0.13, but this node, which is called so, has 10.5.0.11"},
		{"the settings name us", net{}, map[string]string{"db1": "10.5.0.11"}, ""},
	} {
		s := db1()
		s.Hosts = c.hosts
		if got := c.net.wire().Shared(t.Context(), s); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPacketsThatAreLost(t *testing.T) {
	members := map[string]string{"db1": "10.5.0.11", "db2": "10.5.0.12", "far": "192.0.2.1"}
	for _, c := range []struct {
		name    string
		answers map[string]int
		mtu     int
		want    string
	}{
		{"all get through", map[string]int{"10.5.0.1": 9001, "10.5.0.12": 9216}, 9001, ""},
		{"nobody answers at all", nil, 9001, ""},
		{"the router of the cloud is mute, a member is not", map[string]int{"10.5.0.12": 1500}, 9001,
			"the MTU of eth0 is too large for its network: packets of 9001 bytes do not reach 10.5.0.12, those of 1500 do"},
		{"only small ones do", map[string]int{"10.5.0.1": 600}, 1500, "the MTU of eth0 is too large for its network: packets of 1500 bytes do not reach 10.5.0.1, those of 576 do"},
		{"who is on another network is not asked", map[string]int{"192.0.2.1": 600}, 1500, ""},
	} {
		s := db1()
		s.Hosts, s.MTU = members, c.mtu
		if got := (net{answers: c.answers}).wire().TooLarge(t.Context(), s); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRouterThatNamesItsOwnSize(t *testing.T) {
	router := netip.MustParseAddr("10.5.0.1")
	w := Wire{Echo: func(_ context.Context, _, to netip.Addr, bytes int) (probe.Pong, error) {
		if bytes > 1420 {
			return probe.Pong{Most: 1420, By: router}, nil
		}
		return probe.Pong{Came: true}, nil
	}}
	s := db1()
	s.MTU = 1500
	const want = "the MTU of eth0 is too large for its network: packets of 1500 bytes do not reach 10.5.0.1, those of 1420 do; 10.5.0.1 takes 1420 at the most"
	if got := w.TooLarge(t.Context(), s); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
