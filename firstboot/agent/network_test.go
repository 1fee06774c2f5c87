package agent

import (
	"context"
	"errors"
	"net/netip"

	"grove/firstboot/clock"
	"grove/firstboot/network/probe"
)

// others are the other machines of a fake node's network.
type others struct {
	time  func(server string) clock.Sample // silent, if nil
	echo  func(to netip.Addr, bytes int) bool
	names map[string]string
}

func (n *others) doors() Wire {
	return Wire{
		Time: func(_ context.Context, server string) clock.Sample {
			if n.time == nil {
				return clock.Sample{Server: server, Refused: errors.New("no answer")}
			}
			return n.time(server)
		},
		Echo: func(_ context.Context, _, to netip.Addr, bytes int) (probe.Pong, error) {
			return probe.Pong{Came: n.echo == nil || n.echo(to, bytes)}, nil
		},
		Name: func(_ context.Context, _ netip.AddrPort, name string) ([]netip.Addr, error) {
			if at, has := n.names[name]; has {
				return []netip.Addr{netip.MustParseAddr(at)}, nil
			}
			return nil, nil
		},
	}
}
