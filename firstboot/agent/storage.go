package agent

import (
	"context"
	"errors"
	"strings"

	"grove/firstboot/disk"
	"grove/firstboot/provision"
	"grove/firstboot/status"
	"grove/firstboot/voice"
)

const stateFolder = "/state"

func (a *Agent) mountState() error {
	if a.medium.Name == "" {
		return errors.New("no medium, so no state partition")
	}
	m, err := disk.MountState(a.Machine, a.medium, a.Root+stateFolder)
	if err != nil {
		return err
	}
	for _, did := range m.Did {
		a.voice.Say("state", "%s", did)
	}
	if len(m.Problems) > 0 {
		a.voice.Problem("state", strings.Join(m.Problems, "; "))
		a.voice.Say("state", "%s", strings.Join(m.Problems, "; "))
	}
	total, free, err := a.Machine.Space(a.Root + stateFolder)
	if err != nil {
		return err
	}
	a.voice.Page(func(s *status.Status) { s.State = status.State{Device: m.Dev, Size: int64(total), Free: int64(free)} })
	a.voice.Say("state", "%s on %s, %s, %s free", m.Dev, stateFolder, total.Short(), free.Short())
	return nil
}

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
