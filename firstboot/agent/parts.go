package agent

import (
	"context"

	"grove/firstboot/access"
	"grove/firstboot/sight"
)

// The parts of the agent that need no disk, and begin when the settings are known.

// raise has the firewall's rules.
func (a *Agent) raise(ctx context.Context) {
	if s, known := a.settings(ctx); known {
		a.wall.Raise(ctx, s)
	}
}

func (a *Agent) openAccess() {
	a.access = &access.Site{Machine: a.Machine, Root: a.Root, Listen: a.Listen, State: a.hasState, Wall: a.wall, Node: a.voice.On("ssh")}
	if a.presence.EC2 {
		a.access.Instance = a.presence.Keys
	}
}

// letIn opens the node to those whose keys the settings name.
func (a *Agent) letIn(ctx context.Context) {
	if s, known := a.settings(ctx); known {
		a.access.Open(ctx, s.SSH)
	}
}

func (a *Agent) openSight() {
	a.sight = &sight.Site{Machine: a.Machine, Root: a.Root, Server: a.Server, Listen: a.Listen, Stands: a.wall.Stands, State: a.hasState, Voice: a.voice}
	a.sight.Open()
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
