package firewall

import (
	"flag"
	"net/netip"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/spec"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, t := range texts {
		all = append(all, netip.MustParsePrefix(t))
	}
	return all
}

// cases are also loaded into a kernel, and read back by nft.
var cases = []struct {
	name   string
	wanted Wanted
}{
	{"no-address-yet", Wanted{Mongod: 27017, SSH: 22}},
	{"own-network", Wanted{Own: prefixes("10.5.0.11/24"), Mongod: 27017, SSH: 22, Page: 8080}},
	{"two-interfaces-no-key-no-page", Wanted{Own: prefixes("192.168.1.11/24", "10.0.0.2/16", "192.168.1.12/24"), Mongod: 27018}},
	{"networks-by-name", Wanted{Own: prefixes("10.5.0.11/24"), Mongod: 27017, SSH: 22, Page: 80,
		Networks: spec.Firewall{Cluster: []string{"10.5.0.0/28", "192.0.2.7/32"}, Operator: []string{"198.51.100.0/24", "fd00::/8"}}}},
}

func TestRules(t *testing.T) {
	for _, c := range cases {
		got, golden := Decide(c.wanted).String(), "testdata/"+c.name+".nft"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestNetworks(t *testing.T) {
	for _, c := range []struct {
		name  string
		named []string
		own   []netip.Prefix
		want  []netip.Prefix
	}{
		{"none are known: nobody", nil, nil, nil},
		{"the node's own, each once", nil, prefixes("10.0.0.2/8", "10.9.0.1/8", "192.0.2.1/24"), prefixes("10.0.0.0/8", "192.0.2.0/24")},
		{"named ones in place of its own", []string{"192.0.2.0/24"}, prefixes("10.0.0.2/8"), prefixes("192.0.2.0/24")},
		{"one that is no network leaves nothing open instead", []string{"all"}, prefixes("10.0.0.2/8"), nil},
	} {
		if diff := cmp.Diff(c.want, networks(c.named, c.own), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
