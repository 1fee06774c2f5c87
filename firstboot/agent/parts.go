package agent

import (
	"context"
	"time"

	"grove/firstboot/access"
	"grove/firstboot/clock"
	"grove/firstboot/lend"
	"grove/firstboot/neighbours"
	"grove/firstboot/node"
	"grove/firstboot/presence"
	"grove/firstboot/sight"
	"grove/firstboot/status"
	"grove/firstboot/tuner"
	"grove/firstboot/wall"
)

// openParts makes the parts that need no disk. Each goes on from what an agent before this one has left.
func (a *Agent) openParts(before status.Status) {
	a.wall = &wall.Site{Machine: a.Machine, Root: a.Root, Filter: a.Filter, Addresses: a.Addresses, Node: a.voice.On("firewall")}
	a.wall.Open(before.Mongod.Port)
	a.clock = &clock.Site{Machine: a.Machine, Root: a.Root, Image: time.Unix(a.image.Time, 0), Ask: a.Wire.Time, Node: a.voice.On("clock")}
	a.clock.Open()
	a.lending = &lend.Lending{Root: a.Root, Uptime: a.voice.Uptime, SetMTU: a.Links.SetMTU, Node: a.voice.On("network")}
	a.lending.Open()
	a.presence = &presence.Site{Machine: a.Machine, Root: a.Root, EC2: node.OnEC2(a.Root), Links: a.Links, NewClient: a.NewClient, MTU: a.lending.Of,
		Neighbours: neighbours.Wire{Echo: a.Wire.Echo, Name: a.Wire.Name}, Metadata: a.Wire.Metadata, Offer: a.clock.Offer, Moved: a.wall.Moved, Voice: a.voice}
	a.presence.Open()
	a.access = &access.Site{Machine: a.Machine, Root: a.Root, Listen: a.Listen, State: a.hasState, Wall: a.wall, Node: a.voice.On("ssh")}
	if a.presence.EC2 {
		a.access.Instance = a.presence.Keys
	}
	a.tuner = &tuner.Site{Root: a.Root, Image: a.image, Arch: arch(), Node: a.voice.On("tuning"), Warnings: a.Warnings}
	a.tuner.Open()
	a.sight = &sight.Site{Machine: a.Machine, Root: a.Root, Server: a.Server, Listen: a.Listen, Stands: a.wall.Stands, State: a.hasState, Voice: a.voice}
	a.sight.Open()
}

func (a *Agent) connect(ctx context.Context) { a.presence.Connect(ctx, a.image.Network, a.settings) }

func (a *Agent) askNeighbours(ctx context.Context) {
	if _, known := a.settings(ctx); known {
		a.presence.Ask(ctx)
	}
}

// raise has the firewall's rules.
func (a *Agent) raise(ctx context.Context) {
	if s, known := a.settings(ctx); known {
		a.wall.Raise(ctx, s)
	}
}

// letIn opens the node to those whose keys the settings name.
func (a *Agent) letIn(ctx context.Context) {
	if s, known := a.settings(ctx); known {
		a.access.Open(ctx, s.SSH)
	}
}

func (a *Agent) show(ctx context.Context) {
	if s, known := a.settings(ctx); known {
		a.sight.Show(ctx, s.Status)
	}
}

func (a *Agent) browse(ctx context.Context) {
	if s, known := a.settings(ctx); known {
		a.sight.Browse(ctx, s.Status)
	}
}

func (a *Agent) push(ctx context.Context) {
	if s, known := a.settings(ctx); known {
		a.sight.Push(ctx, s.Metrics)
	}
}

func (a *Agent) record(ctx context.Context) { a.sight.Record(ctx) }
