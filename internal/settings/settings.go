// Package settings checks what a recipe and a node.yaml may both hold: network, firewall, tuning, access, page, metrics, logs. The builder and the agent refuse
// the same with the same words; it decides and touches nothing.
package settings

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"sort"
	"strings"

	"golang.org/x/crypto/ssh"

	"grove/internal/diag"
	"grove/internal/size"
	"grove/internal/spec"
)

// BrowsePort is where the page for the data is, on the loopback address: beside the status page's.
const BrowsePort = 8081

// Check reports each fault by its key, such as network.interfaces[0].address.
func Check(s spec.Settings, report func(key, format string, values ...any)) {
	c := check{report}
	c.network(s.Network)
	c.networks("firewall.cluster", s.Firewall.Cluster)
	c.networks("firewall.operator", s.Firewall.Operator)
	c.tuning(s.Tuning)
	c.keys(s.SSH.Keys)
	if p := s.Status.Port; p < 0 || p > 65535 {
		report("status.port", "want a port from 1 to 65535, have %d", p)
	}
	if s.Status.Browse && !s.Status.Off && s.Status.Port == BrowsePort {
		report("status.port", "%d is the page's for the data (status.browse); want another", BrowsePort)
	}
	c.address("metrics.push", s.Metrics.Push)
	c.address("metrics.proxy", s.Metrics.Proxy)
	c.logs(s.Logs)
	c.replicaSet(s.ReplicaSet)
}

type check struct {
	report func(key, format string, values ...any)
}

func (c check) oneOf(key, value string, list []string) {
	if value != "" && !slices.Contains(list, value) {
		c.report(key, "want one of %s, have %q%s", strings.Join(list, ", "), value, diag.Meant(value, list))
	}
}

// The least is what every IPv4 link must carry (RFC 791), the most a jumbo frame's of the usual network cards.
const leastMTU, mostMTU = 576, 9216

// Four servers bear one that lies, a fifth one that is silent besides.
const mostNTP = 5

func (c check) mtu(key string, mtu int) {
	if mtu != 0 && (mtu < leastMTU || mtu > mostMTU) {
		c.report(key, "want %d to %d, have %d", leastMTU, mostMTU, mtu)
	}
}

func (c check) network(n spec.Network) {
	c.mtu("network.mtu", n.MTU)
	seen := map[string]int{}
	for i, in := range n.Interfaces {
		key := fmt.Sprintf("network.interfaces[%d]", i)
		c.oneInterface(key, in)
		if first, twice := seen[in.String()]; twice && in.String() != "" {
			c.report(key, "is the same as network.interfaces[%d]", first)
		}
		seen[in.String()] = i
		if first, twice := seen[in.Address]; twice && in.Address != "" {
			c.report(key+".address", "is that of network.interfaces[%d]", first)
		}
		seen[in.Address] = i
	}
	for i, a := range n.DNS {
		if _, err := netip.ParseAddr(a); err != nil {
			c.report(fmt.Sprintf("network.dns[%d]", i), "want an address such as 192.168.1.1, have %q", a)
		}
	}
	for i, name := range n.Search {
		if !hostForm.MatchString(name) {
			c.report(fmt.Sprintf("network.search[%d]", i), "want a domain such as example.org, have %q", name)
		}
	}
	if len(n.NTP) > mostNTP {
		c.report("network.ntp", "want at most %d servers, have %d", mostNTP, len(n.NTP))
	}
	for i, name := range n.NTP {
		if _, err := netip.ParseAddr(name); err != nil && !hostForm.MatchString(name) {
			c.report(fmt.Sprintf("network.ntp[%d]", i), "want a name or an address, have %q", name)
		}
	}
	for _, name := range sorted(n.Hosts) {
		if name == "localhost" {
			c.report("network.hosts.localhost", "is every machine's name for itself")
		}
		if _, err := netip.ParseAddr(n.Hosts[name]); err != nil {
			c.report("network.hosts."+name, "want an address such as 192.168.1.11, have %q", n.Hosts[name])
		}
		if !hostForm.MatchString(name) {
			c.report("network.hosts."+name, "want a host's name, have %q", name)
		}
	}
}

var (
	linkForm = regexp.MustCompile(`^[a-z][a-z0-9._-]{0,14}$`) // IFNAMSIZ less one of linux/if.h
	hostForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,62})(\.[A-Za-z0-9][A-Za-z0-9-]{0,62})*$`)
)

func (c check) oneInterface(key string, in spec.Interface) {
	switch {
	case in.Name == "" && in.MAC == "":
		c.report(key, "is any interface; want a name such as eth0, or a mac")
	case in.Name != "" && in.MAC != "":
		c.report(key, "want a name or a mac, have both")
	}
	if in.Name != "" && !linkForm.MatchString(in.Name) {
		c.report(key+".name", "want an interface's name such as eth0, have %q", in.Name)
	}
	if _, err := net.ParseMAC(in.MAC); in.MAC != "" && err != nil {
		c.report(key+".mac", "want six bytes such as 52:54:00:12:34:56, have %q", in.MAC)
	}
	c.mtu(key+".mtu", in.MTU)
	if in.Address == "" {
		if in.Gateway != "" {
			c.report(key+".gateway", "goes with an address only; DHCP brings its own")
		}
		return
	}
	prefix, err := netip.ParsePrefix(in.Address)
	if err != nil || !prefix.Addr().Is4() || prefix.Bits() < 31 && (prefix.Addr() == prefix.Masked().Addr() || !prefix.Contains(prefix.Addr().Next())) {
		c.report(key+".address", "want an IPv4 address with its network's length, such as 192.168.1.11/24, have %q", in.Address)
		return
	}
	if gateway, err := netip.ParseAddr(in.Gateway); in.Gateway != "" && (err != nil || !prefix.Contains(gateway) || gateway == prefix.Addr()) {
		c.report(key+".gateway", "want another address within %s, have %q", prefix.Masked(), in.Gateway)
	}
}

func (c check) networks(key string, list []string) {
	for i, text := range list {
		if prefix, err := netip.ParsePrefix(text); err != nil || prefix != prefix.Masked() {
			c.report(fmt.Sprintf("%s[%d]", key, i), "want a network such as 192.168.1.0/24, have %q", text)
		}
	}
}

var sysctlForm = regexp.MustCompile(`^[a-z0-9_]+([./][A-Za-z0-9_-]+)+$`)

// gone are settings that kernels no longer have, with what would do; the builder says so, since on the node nobody would read it.
var gone = map[string]string{
	"net.ipv4.tcp_tw_recycle": "is gone since Linux 4.12, as it dropped connections from behind one address (commit 4396e46187ca); leave it out",
}

func (c check) tuning(t spec.Tuning) {
	c.oneOf("tuning.profile", t.Profile, spec.TuningProfiles)
	for _, name := range sorted(t.Sysctl) {
		key := "tuning.sysctl." + name
		if !sysctlForm.MatchString(name) || strings.Contains(name, "..") {
			c.report(key, "want a name such as vm.swappiness, have %q", name)
		} else if why, is := gone[name]; is {
			c.report(key, "%s", why)
		}
		if value := t.Sysctl[name]; value == "" || strings.ContainsAny(value, "\n\r\x00") {
			c.report(key, "want one line of text, have %q", value)
		}
	}
}

func (c check) keys(list []string) {
	for i, text := range list {
		key := fmt.Sprintf("ssh.keys[%d]", i)
		_, _, options, rest, err := ssh.ParseAuthorizedKey([]byte(text))
		switch {
		case err != nil && strings.Contains(text, "PRIVATE"):
			c.report(key, "is a private key; want the public one, from the file with .pub")
		case err != nil:
			c.report(key, "want a public key such as ssh-ed25519 AAAA... name, have %.40q", text)
		case len(options) > 0 || len(rest) > 0:
			c.report(key, "want one key without options")
		}
	}
}

func (c check) address(key, text string) {
	u, err := url.Parse(text)
	if text != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		c.report(key, "want an address that begins with https:// or http://, have %q", text)
	}
	if err == nil && u.User != nil {
		c.report(key, "must not hold a password: it would stand in every image and on the status page")
	}
}

func (c check) logs(l spec.Logs) {
	c.oneOf("logs.rotate", l.Rotate, spec.LogRotations)
	if l.Size != 0 && l.Size < size.MiB {
		c.report("logs.size", "have %s, want at least 1MiB", l.Size)
	}
	if l.Keep < 0 || l.Keep > 1000 {
		c.report("logs.keep", "want 1 to 1000, have %d", l.Keep)
	}
}

func sorted(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
