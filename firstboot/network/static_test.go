package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"grove/internal/spec"
)

func fixed() spec.Network {
	return spec.Network{MTU: 1500, Interfaces: []spec.Interface{{Name: "eth0", Address: "192.0.2.11/24", Gateway: "192.0.2.1", MTU: 9001}}}
}

func TestAddressOfItsOwnIsSetAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.links, w.network = w.links[2:], fixed()
		w.taken = func(at time.Duration) bool { return at > 12*time.Minute }
		w.run(t, 16*time.Minute)
		w.did(t, "0 up eth0", "0 up eth0", "0 mtu eth0 9001", "0 set eth0 192.0.2.11/24", "0 leased eth0",
			"900 trouble eth0 192.0.2.11 is taken by the machine with the MAC address 02:00:00:00:00:09")
	})
}

func TestAddressThatIsTakenIsNotSetUntilItIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.links, w.network = w.links[2:], fixed()
		w.taken = func(at time.Duration) bool { return at < 20*time.Second }
		w.run(t, time.Minute)
		const taken = "failed eth0 192.0.2.11 is taken by the machine with the MAC address 02:00:00:00:00:09"
		w.did(t, "0 up eth0", "0 up eth0", "0 "+taken, "15 "+taken, "30 mtu eth0 9001", "30 set eth0 192.0.2.11/24", "30 leased eth0")
	})
}

func TestAddressThatAnAgentBeforeHasSetIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.links, w.network, w.has = w.links[2:], fixed(), true
		w.taken = func(time.Duration) bool { return true }
		w.run(t, time.Minute)
		w.did(t, "0 up eth0", "0 up eth0", "0 mtu eth0 9001", "0 set eth0 192.0.2.11/24", "0 leased eth0",
			"0 trouble eth0 192.0.2.11 is taken by the machine with the MAC address 02:00:00:00:00:09")
	})
}

func TestMTUThatTheCardRefusesCostsNoAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.links, w.network, w.mtuFails = w.links[2:], fixed(), errors.New("invalid argument")
		w.run(t, time.Minute)
		w.did(t, "0 up eth0", "0 up eth0", "0 mtu eth0 9001", "0 trouble eth0 invalid argument", "0 set eth0 192.0.2.11/24", "0 leased eth0")
	})
}

func TestInterfaceThatDoesNotComeIsSpokenOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.links, w.network = []Link{{Name: "eth1"}}, fixed()
		w.later = []Link{{Name: "eth0"}, {Name: "eth0", Carrier: true}}
		w.run(t, 2*time.Minute)
		w.did(t, "0 up eth1", "35 trouble eth0 there is no such interface, only eth1 ()", "60 up eth0", "60 trouble eth0 no carrier; is the cable plugged in at both ends?",
			"60 up eth0", "60 trouble eth0", "60 mtu eth0 9001", "60 set eth0 192.0.2.11/24", "60 leased eth0")
	})
}

func TestCarrierThatComesBackIsAReasonToAskAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.links = w.links[2:]
		w.later = []Link{{Name: "eth0"}, {Name: "eth0", Carrier: true}}
		w.run(t, 2*time.Minute)
		w.did(t, "0 up eth0", "0 up eth0", "0 set eth0 10.5.0.11/24", "0 leased eth0", "60 down eth0", "60 trouble Ethernet eth0 (): no carrier; is the cable plugged in at both ends?",
			"60 up eth0", "60 trouble Ethernet", "60 set eth0 10.5.0.11/24")
	})
}

func TestInterfaceThatIsPulledOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		w.links = w.links[2:]
		w.later = []Link{{Name: "eth0", Gone: true}}
		w.run(t, 2*time.Hour)
		w.did(t, "0 up eth0", "0 up eth0", "0 set eth0 10.5.0.11/24", "0 leased eth0", "60 down eth0", "60 lost eth0 the interface is gone",
			"60 trouble Ethernet there is no Ethernet interface; is the driver of its card in the image?")
	})
}

func TestLinkIsFoundByNameOrMAC(t *testing.T) {
	n := spec.Network{Interfaces: []spec.Interface{{MAC: "52:54:00:AA:BB:CC", Address: "192.0.2.1/24"}, {Name: "eth1", Address: "192.0.2.2/24"}}}
	mac := net.HardwareAddr{0x52, 0x54, 0, 0xaa, 0xbb, 0xcc}
	for _, c := range []struct {
		link Link
		want string
	}{
		{Link{Name: "enp1s0", MAC: mac}, "192.0.2.1/24"},
		{Link{Name: "eth1"}, "192.0.2.2/24"},
		{Link{Name: "eth1", MAC: mac}, "192.0.2.1/24"},
		{Link{Name: "eth2"}, ""},
	} {
		if in, named := Wanted(n, c.link); in.Address != c.want || named != (c.want != "") {
			t.Errorf("%+v: got %+v, %v", c.link, in, named)
		}
	}
}

func TestMTUsInTheirOrder(t *testing.T) {
	for _, c := range []struct{ forAWhile, in, all, dhcp, want int }{
		{1400, 9001, 1500, 1450, 1400}, {0, 9001, 1500, 1450, 9001}, {0, 0, 1500, 1450, 1500}, {0, 0, 0, 1450, 1450}, {0, 0, 0, 0, 0},
	} {
		if got := mtu(c.forAWhile, spec.Interface{MTU: c.in}, spec.Network{MTU: c.all}, Lease{MTU: c.dhcp}); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}

func TestAddressOfAPerson(t *testing.T) {
	got, is, err := static(fixed().Interfaces[0])
	want := Lease{Static: true, Address: netip.MustParsePrefix("192.0.2.11/24"), Router: netip.MustParseAddr("192.0.2.1")}
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); diff != "" || !is || err != nil {
		t.Errorf("is %v, %v, want - got +\n%s", is, err, diff)
	}
	if _, is, _ := static(spec.Interface{Name: "eth0"}); is {
		t.Error("one without an address asks by DHCP")
	}
}
