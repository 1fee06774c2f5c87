package agent

import (
	"context"

	"grove/firstboot/mongod"
	"grove/firstboot/rotate"
	"grove/firstboot/status"
	"grove/internal/host"
)

// rotate keeps mongod's log short.
func (a *Agent) rotate(ctx context.Context) {
	want, known := a.settings(ctx)
	if !known {
		return // with ctx
	}
	a.voice.Page(func(s *status.Status) { s.Logs.Path = a.places.Log })
	daemon := mongod.Daemon(a.Root)
	site := rotate.Site{Machine: a.Machine, Log: a.Root + a.places.Log, Output: daemon.Output, Want: want.Logs, Node: a.voice.On("log"), Mongod: func() (p host.Running, runs, answers bool) {
		found := a.Machine.Find(daemon.Path, daemon.Args...)
		if len(found) == 0 {
			return p, false, false
		}
		now := a.voice.Status().Mongod
		return found[0], true, now.State == "ready" && now.PID == found[0].PID
	}}
	site.Keep(ctx)
}
