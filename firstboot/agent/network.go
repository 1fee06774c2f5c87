package agent

import (
	"context"
	"net/netip"
	"strings"

	"grove/firstboot/clock"
	"grove/firstboot/neighbours"
	"grove/firstboot/network/probe"
	"grove/firstboot/node"
	"grove/firstboot/presence"
)

// Wire is what the agent asks of other machines.
type Wire struct {
	Time     func(ctx context.Context, server string) clock.Sample
	Echo     func(ctx context.Context, from, to netip.Addr, bytes int) (probe.Pong, error)
	Name     func(ctx context.Context, server netip.AddrPort, name string) ([]netip.Addr, error)
	Metadata string // where EC2's metadata service is
}

func (a *Agent) openPresence() {
	a.presence = &presence.Site{Machine: a.Machine, Root: a.Root, EC2: node.OnEC2(a.Root), Links: a.Links, NewClient: a.NewClient, MTU: a.lending.Of,
		Neighbours: neighbours.Wire{Echo: a.Wire.Echo, Name: a.Wire.Name}, Metadata: a.Wire.Metadata, Offer: a.clock.Offer, Moved: a.wall.Moved, Voice: a.voice}
	a.presence.Open()
}

func (a *Agent) connect(ctx context.Context) { a.presence.Connect(ctx, a.image.Network, a.settings) }

func (a *Agent) askNeighbours(ctx context.Context) {
	if _, known := a.settings(ctx); known {
		a.presence.Ask(ctx)
	}
}

// readNode reads node.yaml, from which the settings and the node's name follow.
func (a *Agent) readNode(ctx context.Context) {
	found, err := node.Look(a.Machine, a.Root, a.medium, a.presence.Cloud(ctx))
	if err != nil {
		a.voice.Problem("node", err.Error())
		a.voice.Say("node", "%v", err)
	}
	if len(found.Faults) > 0 {
		sentence := "node.yaml is refused: " + strings.ReplaceAll(found.Faults.Error(), "\n", "; ")
		a.voice.Problem("node", sentence)
		a.voice.Say("node", "%s", sentence)
	}
	a.settle(found)
	a.presence.Take(ctx, found, a.settled.value.Network)
}
