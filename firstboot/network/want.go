package network

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"grove/internal/spec"
)

// Wanted finds what the settings say of a link, by its name or its MAC address; the first that fits counts.
func Wanted(n spec.Network, l Link) (in spec.Interface, named bool) {
	for _, in := range n.Interfaces {
		if is(in, l) {
			return in, true
		}
	}
	return spec.Interface{Name: l.Name}, false
}

func is(in spec.Interface, l Link) bool {
	if in.MAC == "" {
		return in.Name == l.Name
	}
	mac, err := net.ParseMAC(in.MAC)
	return err == nil && mac.String() == l.MAC.String()
}

// Missing says of the interfaces that the settings name which are not there or have no carrier; without any named, one that has a carrier will do.
func Missing(n spec.Network, links []Link) map[string]string {
	all := map[string]string{}
	for _, in := range n.Interfaces {
		at := slices.IndexFunc(links, func(l Link) bool { return is(in, l) })
		if at < 0 {
			all[in.String()] = "there is no such interface, only " + list(links)
		} else if !links[at].Carrier {
			all[in.String()] = noCarrier
		}
	}
	switch {
	case len(n.Interfaces) > 0 || slices.ContainsFunc(links, func(l Link) bool { return l.Carrier }):
	case len(links) == 0:
		all["Ethernet"] = "there is no Ethernet interface; is the driver of its card in the image?"
	default:
		all["Ethernet"] = list(links) + ": " + noCarrier
	}
	return all
}

const noCarrier = "no carrier; is the cable plugged in at both ends?"

func list(links []Link) string {
	var words []string
	for _, l := range links {
		words = append(words, fmt.Sprintf("%s (%s)", l.Name, l.MAC))
	}
	if slices.Sort(words); len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// static is the lease that a person gave.
func static(in spec.Interface) (l Lease, is bool, err error) {
	if in.Address == "" {
		return l, false, nil
	}
	l.Static = true
	if l.Address, err = netip.ParsePrefix(in.Address); err == nil && in.Gateway != "" {
		l.Router, err = netip.ParseAddr(in.Gateway)
	}
	return l, true, err
}

// mtu is that of a link: a person's for a while, the interface's, that of all interfaces, DHCP's. 0: as it is.
func mtu(forAWhile int, in spec.Interface, n spec.Network, l Lease) int {
	for _, m := range []int{forAWhile, in.MTU, n.MTU} {
		if m != 0 {
			return m
		}
	}
	return l.MTU
}
