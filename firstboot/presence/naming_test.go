package presence

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"grove/firstboot/network"
	"grove/internal/spec"
)

func lease(link, address, router string, change ...func(*network.Lease)) held {
	h := held{link, network.Lease{Address: netip.MustParsePrefix(address)}}
	if router != "" {
		h.lease.Router = netip.MustParseAddr(router)
	}
	for _, c := range change {
		c(&h.lease)
	}
	return h
}

func TestMainAddress(t *testing.T) {
	for _, c := range []struct {
		name   string
		leases []held
		want   string
	}{
		{"without a lease there is none", nil, ""},
		{"one with a way out comes before one that came earlier", []held{lease("eth0", "10.5.0.11/24", ""), lease("eth1", "192.0.2.11/24", "192.0.2.1")}, "eth1"},
		{"and stays so in the other order", []held{lease("eth1", "192.0.2.11/24", "192.0.2.1"), lease("eth0", "10.5.0.11/24", "")}, "eth1"},
		{"of two ways out the first by name", []held{lease("eth1", "192.0.2.11/24", "192.0.2.1"), lease("eth0", "10.5.0.11/24", "10.5.0.1")}, "eth0"},
		{"of two without a way out as well", []held{lease("eth1", "192.0.2.11/24", ""), lease("eth0", "10.5.0.11/24", "")}, "eth0"},
	} {
		n := naming{leases: c.leases}
		if got := n.main().link; got != c.want {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
		}
	}
}

func TestResolversAreAPersonsFirst(t *testing.T) {
	dhcp := func(l *network.Lease) {
		l.DNS, l.Search = []netip.Addr{netip.MustParseAddr("10.5.0.1"), netip.MustParseAddr("192.0.2.53")}, []string{"lab", "example.org"}
	}
	n := naming{network: spec.Network{DNS: []string{"192.0.2.53"}, Search: []string{"example.org"}}, leases: []held{lease("eth0", "10.5.0.11/24", "", dhcp), lease("eth1", "10.6.0.11/24", "", dhcp)}}
	servers, search := n.resolvers()
	if got, want := strings.Join(words(servers), " "), "192.0.2.53 10.5.0.1"; got != want {
		t.Errorf("servers: got %s; want %s", got, want)
	}
	if want := []string{"example.org", "lab"}; !slices.Equal(search, want) {
		t.Errorf("search: got %q; want %q", search, want)
	}
}

func TestTimeServers(t *testing.T) {
	withNTP := lease("eth0", "10.5.0.11/24", "", func(l *network.Lease) { l.NTP = []netip.Addr{netip.MustParseAddr("10.5.0.1")} })
	for _, c := range []struct {
		name  string
		n     *naming
		ec2   bool
		want  string
		known bool
	}{
		{"DHCP's are not known before node.yaml was looked for", &naming{leases: []held{withNTP}}, false, "10.5.0.1", false},
		{"a person's need no address", &naming{looked: true, network: spec.Network{NTP: []string{"time.example.org"}}}, false, "time.example.org", true},
		{"that there is none is not known without an address", &naming{looked: true}, false, "", false},
		{"and is with one", &naming{looked: true, leases: []held{lease("eth0", "10.5.0.11/24", "")}}, false, "", true},
		{"on EC2 there is Amazon's", &naming{looked: true}, true, Amazon, true},
		{"which comes last", &naming{looked: true, leases: []held{withNTP}}, true, "10.5.0.1", true},
	} {
		got, known := c.n.servers(c.ec2)
		if strings.Join(got, " ") != c.want || known != c.known {
			t.Errorf("%s: got %q, known %v; want %q, %v", c.name, got, known, c.want, c.known)
		}
	}
}

func TestSelfNeedsANameAndAnAddress(t *testing.T) {
	here := []held{lease("eth0", "10.5.0.11/24", ""), lease("eth1", "192.0.2.11/24", "192.0.2.1")}
	for _, c := range []struct {
		name string
		n    *naming
		has  bool
	}{
		{"a name alone is not enough", &naming{node: "db1"}, false},
		{"nor an address", &naming{leases: here}, false},
		{"both are", &naming{node: "db1", leases: here}, true},
	} {
		s, has := c.n.self(t.TempDir())
		if has != c.has || has && (s.Name != "db1" || s.Link != "eth1" || len(s.Own) != 2) {
			t.Errorf("%s: got %+v, %v", c.name, s, has)
		}
	}
}
