package network

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/nclient4"
)

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
	if errors.Is(err, nclient4.ErrNoResponse) {
		return Lease{}, errors.New("no DHCP server answers")
	}
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
	dhcpv4.WithRequestedOptions(dhcpv4.OptionHostName, dhcpv4.OptionInterfaceMTU, dhcpv4.OptionDNSDomainSearchList, dhcpv4.OptionNTPServers)(m)
}
