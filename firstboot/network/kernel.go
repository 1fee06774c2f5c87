package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"

	"grove/firstboot/network/probe"
)

// Kernel is the node's own network, by rtnetlink.
type Kernel struct{}

var _ Links = Kernel{}

// Watch see Links.
func (Kernel) Watch(ctx context.Context) (<-chan Link, error) {
	updates := make(chan netlink.LinkUpdate, 16)
	if err := netlink.LinkSubscribeWithOptions(updates, ctx.Done(), netlink.LinkSubscribeOptions{ListExisting: true}); err != nil {
		return nil, err
	}
	links := make(chan Link)
	go func() {
		defer close(links)
		for u := range updates {
			if !ethernet(u.Link) {
				continue
			}
			a := u.Link.Attrs()
			select {
			case links <- Link{a.Name, a.HardwareAddr, carrier(a), u.Header.Type == deleted}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return links, nil
}

// deleted is RTM_DELLINK of linux/rtnetlink.h.
const deleted = 17

// ethernet leaves out the loopback and what is made by software (bonds, bridges).
func ethernet(l netlink.Link) bool {
	a := l.Attrs()
	return l.Type() == "device" && a.EncapType == "ether" && a.Flags&net.FlagLoopback == 0
}

// carrier is IFF_LOWER_UP of linux/if.h.
func carrier(a *netlink.LinkAttrs) bool {
	const lowerUp = 1 << 16
	return a.RawFlags&lowerUp != 0
}

// Up see Links.
func (Kernel) Up(name string) error {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err != nil {
		return fmt.Errorf("bring %s up: %w", name, err)
	}
	return nil
}

// Who made a route, for `ip route`: RTPROT_STATIC and RTPROT_DHCP of linux/rtnetlink.h.
const byHand, byDHCP = 4, 16

// Set see Links. What is so already stays as it is.
func (Kernel) Set(name string, l Lease) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("set the address of %s: %w", name, err)
	}
	// In this order: the kernel takes an address away together with the first one of its network.
	if err := only(link, l.Address); err != nil {
		return err
	}
	if err := netlink.AddrReplace(link, address(l)); err != nil {
		return fmt.Errorf("give %s the address %s: %w", name, l.Address, err)
	}
	_ = probe.Announce(name, l.Address.Addr()) // who does not hear it finds out by itself, later
	return route(link, l)
}

// only takes all other addresses away: of an earlier lease, or of DHCP before node.yaml was read.
func only(link netlink.Link, keep netip.Prefix) error {
	have, err := netlink.AddrList(link, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("list the addresses of %s: %w", link.Attrs().Name, err)
	}
	for _, a := range have {
		if a.IPNet.String() == keep.String() {
			continue
		}
		if err := netlink.AddrDel(link, &a); err != nil {
			return fmt.Errorf("take %s from %s: %w", a.IPNet, link.Attrs().Name, err)
		}
	}
	return nil
}

// route sets the default route. It is on link, as some clouds give /32 addresses with a router outside of them; the metric leaves the first interface first.
func route(link netlink.Link, l Lease) error {
	r := netlink.Route{LinkIndex: link.Attrs().Index, Priority: 100 + link.Attrs().Index}
	if !l.Router.IsValid() {
		r.Dst = &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
		_ = netlink.RouteDel(&r) // mostly there is none
		return nil
	}
	r.Gw, r.Protocol, r.Flags = l.Router.AsSlice(), byDHCP, int(netlink.FLAG_ONLINK)
	if l.Static {
		r.Protocol = byHand
	}
	if err := netlink.RouteReplace(&r); err != nil {
		return fmt.Errorf("set the default route by %s on %s: %w", l.Router, link.Attrs().Name, err)
	}
	return nil
}

// SetMTU see Links. The kernel's word for one that the card can't have is "invalid argument".
func (Kernel) SetMTU(name string, mtu int) error {
	link, err := netlink.LinkByName(name)
	if err == nil && link.Attrs().MTU == mtu {
		return nil
	}
	if err == nil {
		err = netlink.LinkSetMTU(link, mtu)
	}
	if err != nil {
		return fmt.Errorf("set the MTU of %s to %d: %w", name, mtu, err)
	}
	return nil
}

// Has see Links.
func (Kernel) Has(name string, l Lease) bool {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return false
	}
	have, err := netlink.AddrList(link, netlink.FAMILY_V4)
	for _, a := range have {
		if a.IPNet.String() == l.Address.String() {
			return err == nil
		}
	}
	return false
}

// Taken see Links.
func (Kernel) Taken(ctx context.Context, link string, l Lease) (net.HardwareAddr, error) {
	return probe.Address(ctx, link, l.Address.Addr())
}

// Unset see Links. Routes go with their address.
func (Kernel) Unset(name string, l Lease) error {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.AddrDel(link, address(l))
	}
	if err != nil {
		return fmt.Errorf("take %s from %s: %w", l.Address, name, err)
	}
	return nil
}

func address(l Lease) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: l.Address.Addr().AsSlice(), Mask: net.CIDRMask(l.Address.Bits(), 32)}}
}
