package agent

import (
	"context"

	"grove/firstboot/provision"
	"grove/firstboot/status"
)

// voice is the agent as package provision knows it.
type voice struct{ agent *Agent }

func (v voice) Say(format string, values ...any) { v.agent.say("storage", format, values...) }

func (v voice) Page(change func(*status.Status)) { v.agent.page.set(change) }

func (v voice) Status() status.Status { return v.agent.page.read() }

func (v voice) Problem(about, sentence string) { v.agent.page.problem(about, sentence) }

func (v voice) Name() (name string, given bool) { return v.agent.firstName() }

// provide has the data disks ready, if the image asks for any. It ends without them only with ctx.
func (a *Agent) provide(ctx context.Context, state bool) error {
	a.site = &provision.Site{Machine: a.Machine, Root: a.Root, Image: a.image, Node: voice{a}}
	a.site.Open(state)
	if a.image.Storage == nil {
		return nil
	}
	a.named(ctx)
	return a.site.Bring(ctx)
}
