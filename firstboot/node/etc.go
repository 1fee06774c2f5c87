package node

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Hosts is /etc/hosts. The node's name stands for the address at which others see it: mongod compares it with the members of its set. others are those that a person
// named; the node itself is not taken from there.
func Hosts(name string, address netip.Addr, others map[string]string) string {
	text := "127.0.0.1 localhost\n::1 localhost\n"
	names := name
	short, _, dotted := strings.Cut(name, ".")
	if dotted {
		names += " " + short
	}
	switch {
	case name == "":
	case address.IsValid():
		text += address.String() + " " + names + "\n"
	default:
		text += "127.0.1.1 " + names + "\n"
	}
	for _, other := range slices.Sorted(maps.Keys(others)) {
		if other != name && other != short && other != "localhost" {
			text += others[other] + " " + other + "\n"
		}
	}
	return text
}

// Resolv is /etc/resolv.conf.
func Resolv(servers []netip.Addr, search []string) string {
	var b strings.Builder
	for _, s := range servers[:min(3, len(servers))] { // the C library reads three
		fmt.Fprintf(&b, "nameserver %s\n", s)
	}
	if len(search) > 0 {
		fmt.Fprintf(&b, "search %s\n", strings.Join(search, " "))
	}
	return b.String()
}
