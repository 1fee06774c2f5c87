package agent

import "grove/firstboot/space"

func (a *Agent) openSpace(state bool) {
	a.space = &space.Site{Machine: a.Machine, Root: a.Root, Mounts: space.Mounts(a.places, state), Node: a.voice.On("space")}
}
