package network

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
)

// Lease is what a DHCP server gave, as far as Grove uses it; or a person, and then it is Static and lasts.
type Lease struct {
	Static   bool
	Address  netip.Prefix
	Router   netip.Addr // invalid if there is none
	DNS      []netip.Addr
	NTP      []netip.Addr
	Search   []string
	Hostname string
	MTU      int           // 0: as it is
	Lasts    time.Duration // from when it was given
	Renew    time.Duration
}

// Bounds of a lease's times: a server that says nothing, or nonsense, is asked again each hour and not more often than each minute.
const (
	usual    = time.Hour
	shortest = time.Minute
)

// read takes the lease out of a server's DHCPACK (RFC 2131, 2132).
func read(ack *dhcpv4.DHCPv4) (Lease, error) {
	address, ok := addr(ack.YourIPAddr)
	if !ok || address.IsUnspecified() || address.IsMulticast() || address.IsLoopback() {
		return Lease{}, fmt.Errorf("read the lease: %v is no address for a node", ack.YourIPAddr)
	}
	bits := 32
	if mask := ack.SubnetMask(); mask != nil {
		var size int
		if bits, size = mask.Size(); size != 32 || bits == 0 {
			return Lease{}, fmt.Errorf("read the lease: %v is no network mask", net.IP(mask))
		}
	}
	l := Lease{Address: netip.PrefixFrom(address, bits), Hostname: ack.HostName(), DNS: addrs(ack.DNS()), NTP: addrs(ack.NTPServers())}
	if routers := addrs(ack.Router()); len(routers) > 0 {
		l.Router = routers[0]
	}
	if search := ack.DomainSearch(); search != nil {
		l.Search = search.Labels
	} else if domain := ack.DomainName(); domain != "" {
		l.Search = []string{domain}
	}
	if mtu, err := dhcpv4.GetUint16(dhcpv4.OptionInterfaceMTU, ack.Options); err == nil && mtu >= 576 {
		l.MTU = int(mtu)
	}
	l.Lasts = max(ack.IPAddressLeaseTime(usual), shortest)
	l.Renew = min(max(ack.IPAddressRenewalTime(l.Lasts/2), shortest/2), l.Lasts)
	return l, nil
}

func addr(ip net.IP) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(ip.To4())
	return a, ok
}

func addrs(ips []net.IP) (all []netip.Addr) {
	for _, ip := range ips {
		if a, ok := addr(ip); ok && !a.IsUnspecified() {
			all = append(all, a)
		}
	}
	return all
}
