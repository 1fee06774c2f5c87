package agent

import (
	"context"

	"grove/firstboot/provision"
	"grove/firstboot/voice"
)

// disks is the agent as package provision knows it.
type disks struct {
	voice.Tongue
	agent *Agent
}

func (d disks) Problem(about, sentence string) { d.Tongue.Problem(about, sentence) }

func (d disks) Name() (name string, given bool) { return d.agent.presence.First() }

// provide has the data disks ready, if the image asks for any. It ends without them only with ctx.
func (a *Agent) provide(ctx context.Context, state bool) error {
	a.site = &provision.Site{Machine: a.Machine, Root: a.Root, Image: a.image, Node: disks{a.voice.On("storage"), a}}
	a.site.Open(state)
	if a.image.Storage == nil {
		return nil
	}
	a.presence.Named(ctx)
	return a.site.Bring(ctx)
}
