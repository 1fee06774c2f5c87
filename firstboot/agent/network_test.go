package agent

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"grove/firstboot/clock"
	"grove/firstboot/network"
	"grove/firstboot/network/probe"
	"grove/firstboot/presence"
)

// others are the other machines of a fake node's network.
type others struct {
	time  func(server string) clock.Sample // silent, if nil
	echo  func(to netip.Addr, bytes int) bool
	mu    sync.Mutex
	names map[string]string
	base  string // of the metadata service
	mute  bool   // no DHCP server
}

// client is a DHCP client whose server may be mute.
type client struct {
	wire
	mute bool
}

func (c client) Ask(ctx context.Context, link string) (network.Lease, error) {
	if c.mute {
		return network.Lease{}, errors.New("no DHCP server answers")
	}
	return c.wire.Ask(ctx, link)
}

func (n *others) doors() Wire {
	return Wire{
		Metadata: n.base,
		Time: func(_ context.Context, server string) clock.Sample {
			if n.time == nil {
				return clock.Sample{Server: server, Refused: errors.New("no answer")}
			}
			return n.time(server)
		},
		Echo: func(_ context.Context, _, to netip.Addr, bytes int) (probe.Pong, error) {
			return probe.Pong{Came: n.echo == nil || n.echo(to, bytes)}, nil
		},
		Name: func(_ context.Context, _ netip.AddrPort, name string) ([]netip.Addr, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			if at, has := n.names[name]; has {
				return []netip.Addr{netip.MustParseAddr(at)}, nil
			}
			return nil, nil
		},
	}
}

func (n *bench) personal(text string) {
	n.file("sys/firmware/qemu_fw_cfg/by_name/opt/org.grove/node.yaml/raw", text)
}

func (n *bench) etc(want map[string]string) {
	n.t.Helper()
	for file, text := range want {
		if got, err := os.ReadFile(filepath.Join(n.root, "etc", file)); err != nil || string(got) != text {
			n.t.Errorf("/etc/%s: got %q, %v; want %q", file, got, err, text)
		}
	}
}

func (n *bench) hasProblem(want string) {
	n.t.Helper()
	if got := n.status().Problems; !slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, want) }) {
		n.t.Errorf("got the problems %q; want %q among them", got, want)
	}
}

func TestNodeWithAnAddressOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.personal(`hostname: db1
network:
  interfaces: [{mac: "52:54:00:AA:BB:CC", address: 192.0.2.11/24, gateway: 192.0.2.1}]
  dns: [192.0.2.53]
  search: [example.org]
  hosts: {db2: 192.0.2.12}
`)
		n.begin()
		pass(10 * time.Second)
		n.hasSaid("network: eth0 has 192.0.2.11/24 by settings, router 192.0.2.1", "node: db1, by fw_cfg", "mongod: 6.0.5 answers on 192.0.2.11:27017, pid 100")
		n.etc(map[string]string{"hosts": "127.0.0.1 localhost\n::1 localhost\n192.0.2.11 db1\n192.0.2.12 db2\n", "resolv.conf": "nameserver 192.0.2.53\nsearch example.org\n"})
		if got := n.status(); got.Network.Links[0].By != "settings" || len(got.Problems) > 0 {
			t.Errorf("got %+v", got)
		}
		n.leave()
	})
}

func TestNodeWithoutDHCPStaysUpAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.wire.mute = true
		n.begin()
		pass(30 * time.Second)
		n.hasProblem("network eth0: no address: no DHCP server answers")
		n.hasSaid("network: eth0: no DHCP server answers; it is tried again", "node: grove-aabbcc, by MAC address", "mongod: 6.0.5 answers on 127.0.0.1:27017, pid 100")
		n.leave()
	})
}

func TestInterfaceThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.personal("hostname: db1\nnetwork: {interfaces: [{name: eth7, address: 192.0.2.11/24}]}\n")
		n.begin()
		pass(time.Minute)
		n.hasProblem("network eth7 link: there is no such interface, only eth0 (52:54:00:aa:bb:cc)")
		n.hasSaid("network: eth7: there is no such interface, only eth0 (52:54:00:aa:bb:cc)", "network: eth0 has 10.5.0.11/24 by DHCP")
		n.leave()
	})
}

func TestHostnameThatAnotherHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.personal("hostname: db1\nnetwork: {dns: [10.5.0.1]}\n")
		n.wire.names = map[string]string{"db1": "10.5.0.99"}
		n.begin()
		pass(10 * time.Second)
		n.hasProblem("neighbours hostname: another machine, 10.5.0.99, is called db1 as well")
		n.wire.mu.Lock()
		n.wire.names = nil
		n.wire.mu.Unlock()
		pass(2 * time.Minute)
		if got := n.status().Problems; len(got) > 0 {
			t.Errorf("it was renamed, and yet: %q", got)
		}
		n.leave()
	})
}

func TestNodeThatComesToKnowTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.machine.Clock.Skew = -time.Hour
		n.personal("hostname: db1\nnetwork: {ntp: [time.example.org]}\n")
		n.wire.time = func(server string) clock.Sample {
			return clock.Sample{Server: server, Offset: time.Until(n.machine.Now()) * -1, Error: time.Millisecond, Stratum: 2}
		}
		n.begin()
		pass(10 * time.Second)
		if c := n.status().Clock; !c.Synced || c.Server != "time.example.org" || c.Stratum != 2 {
			t.Errorf("got %+v", c)
		}
		if off := time.Until(n.machine.Now()); off.Abs() > time.Second {
			t.Errorf("the clock is off by %s", off)
		}
		n.leave()
		n.begin()
		pass(10 * time.Second)
		if c := n.status().Clock; !c.Synced {
			t.Errorf("after the agent's new start: got %+v", c)
		}
		n.leave()
	})
}

// On EC2 node.yaml comes over the network, which begins by the recipe.
func TestUserDataIsNodeYAML(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/latest/user-data" {
			io.WriteString(w, "hostname: db4\nnetwork: {mtu: 9001}\n")
		}
	}))
	defer server.Close()
	n := newNode(t)
	n.wire.base = server.URL
	n.file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")
	n.begin()
	for deadline := time.Now().Add(20 * time.Second); n.status().Node != "db4" || len(n.status().Clock.Servers) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got %+v; the console has\n%s", n.status(), n.said())
		}
	}
	if s, known := n.agent.settings(t.Context()); !known || s.Network.MTU != 9001 || n.status().NodeFrom != "EC2 user data" {
		t.Errorf("got %+v from %s", s.Network, n.status().NodeFrom)
	}
	if got := n.status().Clock.Servers; !slices.Equal(got, []string{presence.Amazon}) {
		t.Errorf("time servers: got %q", got)
	}
	n.leave()
}
