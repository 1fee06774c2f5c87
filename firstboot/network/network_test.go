package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"grove/internal/spec"
)

// wire is a fake of the kernel's side and of the DHCP server, in fake time.
type wire struct {
	links []Link
	given Lease
	fails func(at time.Duration) error // of the server
	later []Link                       // a minute after the start

	network  spec.Network
	mtuFails error
	has      bool
	taken    func(at time.Duration) bool

	mu    sync.Mutex
	begin time.Time
	said  []string
}

func (w *wire) note(format string, values ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, fmt.Sprintf("%.0f ", time.Since(w.begin).Seconds())+fmt.Sprintf(format, values...))
}

func (w *wire) Watch(ctx context.Context) (<-chan Link, error) {
	out := make(chan Link)
	go func() {
		defer close(out)
		for _, l := range w.links {
			select {
			case out <- l:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
			return
		}
		for _, l := range w.later {
			select {
			case out <- l:
			case <-ctx.Done():
				return
			}
		}
		<-ctx.Done()
	}()
	return out, nil
}
func (w *wire) Up(link string) error             { w.note("up %s", link); return nil }
func (w *wire) Set(link string, l Lease) error   { w.note("set %s %s", link, l.Address); return nil }
func (w *wire) Unset(link string, l Lease) error { w.note("unset %s %s", link, l.Address); return nil }
func (w *wire) Has(string, Lease) bool           { return w.has }
func (w *wire) SetMTU(link string, mtu int) error {
	w.note("mtu %s %d", link, mtu)
	return w.mtuFails
}
func (w *wire) Taken(context.Context, string, Lease) (net.HardwareAddr, error) {
	if w.taken != nil && w.taken(time.Since(w.begin)) {
		return net.HardwareAddr{2, 0, 0, 0, 0, 9}, nil
	}
	return nil, nil
}

func (w *wire) Ask(context.Context, string) (Lease, error) {
	if w.fails != nil {
		if err := w.fails(time.Since(w.begin)); err != nil {
			return Lease{}, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.given, nil
}
func (w *wire) Again(ctx context.Context, link string) (Lease, error) { return w.Ask(ctx, link) }

func (w *wire) run(t *testing.T, during time.Duration) {
	w.begin = time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), during)
	defer cancel()
	_ = Run(ctx, Config{Network: w.network, MTU: func(string) int { return 0 }, Links: w, NewClient: func() Client { return w }, Tell: func(e Event) {
		if e.Kind != Trouble || e.About == "link" || e.Why != "" { // most say that there is none
			w.note("%s %s %s", e.Kind, e.Link, e.Why)
		}
	}})
}

func (w *wire) did(t *testing.T, want ...string) {
	t.Helper()
	for i := range w.said {
		w.said[i] = strings.TrimSpace(w.said[i])
	}
	if !slices.Equal(w.said, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(w.said, "\n"), strings.Join(want, "\n"))
	}
}

func newWire() *wire {
	return &wire{links: []Link{{Name: "eth1"}, {Name: "eth0"}, {Name: "eth0", Carrier: true}},
		given: Lease{Address: netip.MustParsePrefix("10.5.0.11/24"), Lasts: time.Hour, Renew: 30 * time.Minute}}
}

func TestLeaseIsTakenAndRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.run(t, time.Hour+time.Minute)
		w.did(t, "0 up eth1", "0 up eth0", "0 up eth0", "0 set eth0 10.5.0.11/24", "0 leased eth0", "1800 set eth0 10.5.0.11/24", "3600 set eth0 10.5.0.11/24")
	})
}

func TestServerThatIsLateIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.links = w.links[2:]
		w.fails = func(at time.Duration) error {
			if at < 2*time.Second {
				return errors.New("no answer")
			}
			return nil
		}
		w.run(t, time.Minute)
		w.did(t, "0 up eth0", "0 up eth0", "0 failed eth0 no answer", "1 failed eth0 no answer", "2 set eth0 10.5.0.11/24", "2 leased eth0")
	})
}

func TestAddressIsGivenUpWhenTheLeaseHasRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.links = w.links[2:]
		w.fails = func(at time.Duration) error {
			if at > 0 && at < 3605*time.Second {
				return errors.New("no answer")
			}
			return nil
		}
		w.run(t, 2*time.Hour-time.Minute)
		want := []string{"0 up eth0", "0 up eth0", "0 set eth0 10.5.0.11/24", "0 leased eth0", "3600 unset eth0 10.5.0.11/24",
			"3600 lost eth0 the lease has run out: no answer"}
		for at := 3600; at < 3605; at++ {
			want = append(want, fmt.Sprintf("%d failed eth0 no answer", at))
		}
		w.did(t, append(want, "3605 set eth0 10.5.0.11/24", "3605 leased eth0", "5405 set eth0 10.5.0.11/24")...)
	})
}

func TestAnotherAddressTakesThePlaceOfTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.links = w.links[2:]
		time.AfterFunc(10*time.Minute, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.given.Address = netip.MustParsePrefix("10.5.0.12/24")
		})
		w.run(t, 40*time.Minute)
		w.did(t, "0 up eth0", "0 up eth0", "0 set eth0 10.5.0.11/24", "0 leased eth0", "1800 unset eth0 10.5.0.11/24",
			"1800 lost eth0 the server gives 10.5.0.12/24 in place of 10.5.0.11/24", "1800 set eth0 10.5.0.12/24", "1800 leased eth0")
	})
}

func TestLeaseIsRead(t *testing.T) {
	ip := net.IPv4(10, 5, 0, 11)
	ack := func(options ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
		m, err := dhcpv4.New(append([]dhcpv4.Modifier{dhcpv4.WithYourIP(ip)}, options...)...)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	whole := ack(dhcpv4.WithNetmask(net.CIDRMask(24, 32)), dhcpv4.WithRouter(net.IPv4(10, 5, 0, 1)), dhcpv4.WithDNS(net.IPv4(10, 5, 0, 1), net.IPv4zero),
		dhcpv4.WithOption(dhcpv4.OptHostName("db1")), dhcpv4.WithOption(dhcpv4.OptDomainName("lab.internal")), dhcpv4.WithLeaseTime(7200),
		dhcpv4.WithGeneric(dhcpv4.OptionInterfaceMTU, []byte{0x23, 0x29}), dhcpv4.WithOption(dhcpv4.OptNTPServers(net.IPv4(10, 5, 0, 1))))
	router := netip.MustParseAddr("10.5.0.1")
	got, err := read(whole)
	want := Lease{Address: netip.MustParsePrefix("10.5.0.11/24"), Router: router, DNS: []netip.Addr{router}, NTP: []netip.Addr{router}, Search: []string{"lab.internal"},
		Hostname: "db1", MTU: 9001, Lasts: 2 * time.Hour, Renew: time.Hour}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	bare, err := read(ack())
	if want := (Lease{Address: netip.MustParsePrefix("10.5.0.11/32"), Lasts: time.Hour, Renew: 30 * time.Minute}); err != nil || fmt.Sprint(bare) != fmt.Sprint(want) {
		t.Errorf("got %+v, %v; want %+v", bare, err, want)
	}
	for name, m := range map[string]*dhcpv4.DHCPv4{
		"no address":     ack(dhcpv4.WithYourIP(net.IPv4zero)),
		"the loopback":   ack(dhcpv4.WithYourIP(net.IPv4(127, 0, 0, 1))),
		"a mask of gaps": ack(dhcpv4.WithNetmask(net.IPMask{255, 0, 255, 0})),
	} {
		if l, err := read(m); err == nil {
			t.Errorf("%s: got %+v", name, l)
		}
	}
}
