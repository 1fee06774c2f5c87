package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/nclient4"
	"github.com/vishvananda/netlink"
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
			case links <- Link{a.Name, a.HardwareAddr, carrier(a)}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return links, nil
}

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

// fromDHCP is RTPROT_DHCP of linux/rtnetlink.h: who made a route, for `ip route`.
const fromDHCP = 16

// Set see Links. What is so already stays as it is.
func (Kernel) Set(name string, l Lease) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("set the address of %s: %w", name, err)
	}
	if l.MTU != 0 && link.Attrs().MTU != l.MTU {
		if err := netlink.LinkSetMTU(link, l.MTU); err != nil {
			return fmt.Errorf("set the MTU of %s to %d: %w", name, l.MTU, err)
		}
	}
	if err := netlink.AddrReplace(link, address(l)); err != nil {
		return fmt.Errorf("give %s the address %s: %w", name, l.Address, err)
	}
	if !l.Router.IsValid() {
		return nil
	}
	// On link, as some clouds give /32 addresses with a router outside of them. The metric leaves the first interface first.
	route := netlink.Route{LinkIndex: link.Attrs().Index, Gw: l.Router.AsSlice(), Protocol: fromDHCP, Priority: 100 + link.Attrs().Index, Flags: int(netlink.FLAG_ONLINK)}
	if err := netlink.RouteReplace(&route); err != nil {
		return fmt.Errorf("set the default route by %s on %s: %w", l.Router, name, err)
	}
	return nil
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

// dhcp is the Client of one interface.
type dhcp struct{ lease *nclient4.Lease }

// DHCP gives a client for one interface.
func DHCP() Client { return &dhcp{} }

// Ask see Client. It tries five times, in 15 s: an interface that has just come up loses the first packet at times.
func (d *dhcp) Ask(ctx context.Context, link string) (Lease, error) {
	return d.with(link, func(c *nclient4.Client) (*nclient4.Lease, error) { return c.Request(ctx, wanted) })
}

// Again see Client.
func (d *dhcp) Again(ctx context.Context, link string) (Lease, error) {
	if d.lease == nil {
		return Lease{}, errors.New("renew the lease: there is none")
	}
	return d.with(link, func(c *nclient4.Client) (*nclient4.Lease, error) { return c.Renew(ctx, d.lease) })
}

func (d *dhcp) with(link string, ask func(*nclient4.Client) (*nclient4.Lease, error)) (Lease, error) {
	client, err := nclient4.New(link, nclient4.WithTimeout(500*time.Millisecond), nclient4.WithRetry(5))
	if err != nil {
		return Lease{}, fmt.Errorf("speak DHCP on %s: %w", link, err)
	}
	defer client.Close()
	got, err := ask(client)
	if err != nil {
		return Lease{}, fmt.Errorf("ask for an address on %s: %w", link, err)
	}
	lease, err := read(got.ACK)
	if err == nil {
		d.lease = got
	}
	return lease, err
}

func wanted(m *dhcpv4.DHCPv4) {
	dhcpv4.WithRequestedOptions(dhcpv4.OptionHostName, dhcpv4.OptionInterfaceMTU, dhcpv4.OptionDNSDomainSearchList)(m)
}
