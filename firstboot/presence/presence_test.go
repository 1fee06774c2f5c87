package presence

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"grove/firstboot/neighbours"
	"grove/firstboot/network"
	"grove/firstboot/network/probe"
	"grove/firstboot/node"
	"grove/firstboot/status"
	"grove/firstboot/voice"
	"grove/internal/host"
	"grove/internal/size"
	"grove/internal/spec"
)

// bench is a node in fake time, with one interface.
type bench struct {
	*Site
	root string

	mu      sync.Mutex
	console bytes.Buffer
	moved   int
	offered []string          // lists of time servers, a line each
	mtus    []int             // that the link was given
	names   map[string]string // of other machines
	lease   network.Lease     // DHCP's; without an address there is no server
}

func (n *bench) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.console.Write(p)
}

func newNode(t *testing.T) *bench {
	n := &bench{root: t.TempDir(), lease: network.Lease{Address: netip.MustParsePrefix("10.5.0.11/24"), Lasts: time.Hour, Renew: time.Hour}}
	machine := &host.FakeMachine{RAM: size.GiB}
	n.Site = &Site{Machine: machine, Root: n.root, Links: n.links(), NewClient: func() network.Client { return client{n} }, MTU: func(string) int { return 0 },
		Offer: func(servers []string) { n.do(func() { n.offered = append(n.offered, strings.Join(servers, " ")) }) }, Moved: func() { n.do(func() { n.moved++ }) },
		Neighbours: neighbours.Wire{Name: n.name, Echo: func(context.Context, netip.Addr, netip.Addr, int) (probe.Pong, error) {
			return probe.Pong{Came: true}, nil
		}},
		Voice: &voice.Voice{Machine: machine, Root: n.root, Console: n}}
	if err := os.Mkdir(n.root+"/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	n.Open()
	return n
}

func (n *bench) do(what func()) { n.mu.Lock(); defer n.mu.Unlock(); what() }

func (n *bench) links() network.Links { return links{n} }

func (n *bench) name(_ context.Context, _ netip.AddrPort, name string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if at, has := n.names[name]; has {
		return []netip.Addr{netip.MustParseAddr(at)}, nil
	}
	return nil, nil
}

func (n *bench) said() string { n.mu.Lock(); defer n.mu.Unlock(); return n.console.String() }

func (n *bench) status() status.Status { return status.Read(n.root + status.File) }

// run has the network, with or without node.yaml's answer, and gives what ends it.
func (n *bench) run(t *testing.T, personal spec.Personal, early spec.Network) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	settings := func(context.Context) (spec.Settings, bool) {
		return spec.Settings{Network: personal.Settings.Network}, true
	}
	var parts sync.WaitGroup
	parts.Go(func() { n.Connect(ctx, early, settings) })
	parts.Go(func() { n.Take(ctx, node.Found{Personal: personal, From: "fw_cfg"}, personal.Settings.Network) })
	return func() { cancel(); parts.Wait() }
}

type links struct{ n *bench }

func (l links) Watch(ctx context.Context) (<-chan network.Link, error) {
	out := make(chan network.Link, 1)
	out <- network.Link{Name: "eth0", MAC: net.HardwareAddr{0x52, 0x54, 0, 0xaa, 0xbb, 0xcc}, Carrier: true}
	context.AfterFunc(ctx, func() { close(out) })
	return out, nil
}
func (links) Up(string) error                   { return nil }
func (links) Set(string, network.Lease) error   { return nil }
func (links) Unset(string, network.Lease) error { return nil }
func (links) Has(string, network.Lease) bool    { return false }
func (l links) SetMTU(_ string, mtu int) error {
	l.n.do(func() { l.n.mtus = append(l.n.mtus, mtu) })
	return nil
}
func (links) Taken(context.Context, string, network.Lease) (net.HardwareAddr, error) { return nil, nil }

type client struct{ n *bench }

func (c client) Ask(context.Context, string) (l network.Lease, err error) {
	c.n.do(func() { l = c.n.lease })
	if !l.Address.IsValid() {
		return l, errors.New("no DHCP server answers")
	}
	return l, nil
}
func (c client) Again(ctx context.Context, link string) (network.Lease, error) {
	return c.Ask(ctx, link)
}

func TestNameComesFrom(t *testing.T) {
	none := network.Lease{}
	withName := network.Lease{Address: netip.MustParsePrefix("10.5.0.11/24"), Hostname: "db7", Lasts: time.Hour, Renew: time.Hour}
	for _, c := range []struct {
		name     string
		personal spec.Personal
		lease    network.Lease
		within   time.Duration
		want     string
		from     string
		given    bool
	}{
		{"a person's at once, without an address", spec.Personal{Hostname: "db1"}, none, time.Second, "db1", "fw_cfg", true},
		{"a person's goes before DHCP's", spec.Personal{Hostname: "db1"}, withName, time.Second, "db1", "fw_cfg", true},
		{"DHCP's with the address", spec.Personal{}, withName, time.Second, "db7", "DHCP", false},
		{"the MAC address's, when DHCP has said none", spec.Personal{}, network.Lease{Address: netip.MustParsePrefix("10.5.0.11/24"), Lasts: time.Hour, Renew: time.Hour}, time.Second, "grove-aabbcc", "MAC address", false},
		{"the MAC address's, when DHCP had its time", spec.Personal{}, none, dhcpMay + time.Second, "grove-aabbcc", "MAC address", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t)
				n.lease = c.lease
				stop := n.run(t, c.personal, spec.Network{})
				begin := time.Now()
				n.Named(t.Context())
				name, given := n.First()
				s := n.status()
				if name != c.want || given != c.given || s.Node != c.want || s.NodeFrom != c.from || time.Since(begin) > c.within {
					t.Errorf("got %s by %s, given %v, after %s; want %s by %s, %v, within %s", s.Node, s.NodeFrom, given, time.Since(begin), c.want, c.from, c.given, c.within)
				}
				stop()
			})
		})
	}
}

func TestFilesOfEtcFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		stop := n.run(t, spec.Personal{Hostname: "db1", Settings: spec.Settings{Network: spec.Network{DNS: []string{"192.0.2.53"}, Hosts: map[string]string{"db2": "192.0.2.12"}}}}, spec.Network{})
		time.Sleep(time.Second)
		synctest.Wait()
		for file, want := range map[string]string{"hostname": "db1\n", "hosts": "127.0.0.1 localhost\n::1 localhost\n10.5.0.11 db1\n192.0.2.12 db2\n", "resolv.conf": "nameserver 192.0.2.53\n"} {
			if got, err := os.ReadFile(filepath.Join(n.root, "etc", file)); err != nil || string(got) != want {
				t.Errorf("/etc/%s: got %q, %v; want %q", file, got, err, want)
			}
		}
		if n.Address() != netip.MustParseAddr("10.5.0.11") || n.moved == 0 {
			t.Errorf("got %s, moved %d times", n.Address(), n.moved)
		}
		if len(n.offered) == 0 || n.offered[len(n.offered)-1] != "" {
			t.Errorf("time servers: %q; want to hear that there are none", n.offered)
		}
		if l := n.status().Network.Links; len(l) != 1 || !l[0].Up || l[0].Address != "10.5.0.11/24" || l[0].By != "DHCP" {
			t.Errorf("the page has the links %+v", l)
		}
		stop()
	})
}

func TestAddressBeforeThereIsOne(t *testing.T) {
	if got := newNode(t).Address().String(); got != "127.0.0.1" {
		t.Errorf("got %s", got)
	}
}

// On EC2 node.yaml comes over the network, which begins by the image and begins anew only when node.yaml has another one.
func TestNetworkOfEC2BeginsByTheImage(t *testing.T) {
	for _, c := range []struct {
		name string
		own  spec.Network
		want []int // MTUs that the link is given
	}{
		{"the same network goes on", spec.Network{MTU: 1500}, []int{1500}},
		{"another one begins anew", spec.Network{MTU: 9001}, []int{1500, 9001}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t)
				n.EC2 = true
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				settings := func(ctx context.Context) (spec.Settings, bool) { // once there is an address
					return spec.Settings{Network: c.own}, n.online(ctx) == nil
				}
				go func() { defer close(ended); n.Connect(ctx, spec.Network{MTU: 1500}, settings) }()
				time.Sleep(10 * time.Second)
				synctest.Wait()
				n.do(func() {
					if !slices.Equal(slices.Compact(n.mtus), c.want) {
						t.Errorf("got the MTUs %v; want %v", n.mtus, c.want)
					}
				})
				if up := strings.Count(n.said(), "eth0 is up"); up != len(c.want) {
					t.Errorf("the network began %d times; want %d:\n%s", up, len(c.want), n.said())
				}
				cancel()
				<-ended
			})
		})
	}
}

func TestCloudIsWaitedForNoLongerThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		if n.Cloud(t.Context()) != nil {
			t.Error("a node that is not on EC2 has user data")
		}
		n.EC2 = true
		begin := time.Now()
		if _, err := n.Cloud(t.Context())(); err == nil || err.Error() != "no address within a minute" || time.Since(begin) != cloudMay {
			t.Errorf("user data: got %v after %s", err, time.Since(begin))
		}
		begin = time.Now()
		if _, err := n.Keys(t.Context()); err == nil || err.Error() != "no address within 1m0s" || time.Since(begin) != cloudMay {
			t.Errorf("keys: got %v after %s", err, time.Since(begin))
		}
	})
}

func TestNameThatAnotherHasIsAProblemWhileItHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.names = map[string]string{"db1": "10.5.0.99"}
		stop := n.run(t, spec.Personal{Hostname: "db1", Settings: spec.Settings{Network: spec.Network{DNS: []string{"10.5.0.1"}}}}, spec.Network{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); n.Ask(ctx) }()
		time.Sleep(2 * askAfter)
		synctest.Wait()
		const want = "neighbours hostname: another machine, 10.5.0.99, is called db1 as well"
		if got := n.status().Problems; len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("got %q; want %q", got, want)
		}
		n.do(func() { n.names = nil })
		time.Sleep(2 * askAgain)
		synctest.Wait()
		if got := n.status().Problems; len(got) > 0 {
			t.Errorf("it was renamed, and yet: %q", got)
		}
		cancel()
		<-ended
		stop()
	})
}
