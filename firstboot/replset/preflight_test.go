package replset

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"grove/firstboot/replset/join"
	"grove/firstboot/status"
	"grove/internal/spec"
)

func TestWhatIsInTheWayOfJoining(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	here := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	for _, c := range []struct {
		name string
		site *Site
		want string // of the first fault that blocks
	}{
		{"all is well", &Site{Self: "127.0.0.1", Own: func() []netip.Addr { return here }, Loopback: true}, ""},
		{"a name that no member has", &Site{Self: "127.0.0.9", Own: func() []netip.Addr { return here }, Loopback: true}, "this node is called 127.0.0.9, and replica_set.members has [127.0.0.1 192.0.2.7]: give it one of these names, or the set this member"},
		{"the name leads to the loopback", &Site{Self: "127.0.0.1", Own: func() []netip.Addr { return here }}, "127.0.0.1 is 127.0.0.1 here, which is every machine's address for itself: the others would not find this node"},
		{"the name leads elsewhere", &Site{Self: "192.0.2.7", Own: func() []netip.Addr { return here }}, "192.0.2.7 is 192.0.2.7, which is no address of this node; it has [127.0.0.1]: correct the name server, or network.hosts"},
		{"mongod does not listen there", &Site{Self: "127.0.0.1", Own: func() []netip.Addr { return here }, Loopback: true, Port: 1}, "mongod does not listen where the others will look for it: dial tcp 127.0.0.1:1: connect: connection refused"},
	} {
		s := c.site
		if s.Port == 0 {
			s.Port = port
		}
		s.Set = spec.ReplicaSet{Name: "rs0", Members: []spec.Member{{Host: "127.0.0.1"}, {Host: "192.0.2.7"}}}
		s.Node = &machine{}
		g := s.preflight(t.Context(), join.View{Peers: map[string]join.Mongod{"192.0.2.7": {Set: "other"}}})
		got := strings.Join(g.faults[:min(1, len(g.faults))], "")
		if got != c.want {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
		}
		if c.name == "all is well" && !slices.Contains(g.checked, status.Preflight{What: "192.0.2.7 is of rs0 or of none", Fault: "it is of the set other"}) {
			t.Errorf("the report is %+v", g.checked)
		}
	}
}

func TestWhatIsRemembered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grove", "set.json")
	if m, err := remembered(file); err != nil || m != (memory{}) || HasUsers(file) {
		t.Errorf("a new node: got %+v, %v", m, err)
	}
	want := memory{Set: "rs0", Host: "db1:27017", Users: true, Member: true}
	if err := remember(file, want); err != nil {
		t.Fatal(err)
	}
	if m, err := remembered(file); err != nil || m != want || !HasUsers(file) {
		t.Errorf("got %+v, %v", m, err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := remembered(file); err == nil || !HasUsers(file) {
		t.Errorf("a file that cannot be read: got %v; want an error, and no localhost exception", err)
	}
}

func TestDataFromBeforeAreKnownByTheirMark(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if Foreign(dir) {
		t.Error("no folder: foreign")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Begin(dir); err != nil || Foreign(dir) {
		t.Errorf("an empty folder: %v", err)
	}
	for _, name := range []string{"storage.bson", "WiredTiger", "shop.ns", "collection-0.wt"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Begin(dir); err != nil || !Foreign(dir) {
			t.Errorf("%s from before: %v, not foreign", name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "storage.bson"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Begin(dir); err != nil || Foreign(dir) {
		t.Errorf("a folder that Grove began on: %v", err)
	}
}
