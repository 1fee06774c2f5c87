package agent

import (
	"context"
	"strings"
	"sync"

	"grove/firstboot/status"
	"grove/firstboot/supervise"
	"grove/internal/mongoconf"
)

// serve mounts the state and the data, and keeps mongod running on them. Without them there is no mongod: on RAM, or on the medium in place of its disks, it would
// look empty, and lose what it is given. Data disks of this node serve also when the medium is lost.
func (a *Agent) serve(ctx context.Context) {
	err := a.mountState()
	a.clock.Begin(err == nil)
	a.stateIs(err == nil)
	a.places = mongoconf.Where(a.image.Storage, err == nil)
	switch {
	case a.image.Storage == nil && err != nil:
		a.refuse("state", err)
		return
	case err != nil:
		a.voice.Problem("state", err.Error())
		a.voice.Say("state", "%v; nothing new is made on the data disks", err)
	}
	if !a.tune(ctx) || a.provide(ctx, err == nil) != nil {
		return // with ctx
	}
	a.tuner.Data(a.places)
	a.openSpace(err == nil)
	var keeping sync.WaitGroup
	keeping.Go(func() { a.site.Keep(ctx) })
	keeping.Go(func() { a.tuner.Keep(ctx) })
	keeping.Go(func() { a.rotate(ctx) })
	keeping.Go(func() { a.space.Keep(ctx) })
	defer keeping.Wait()
	conf, err := a.configure(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		a.refuse("mongod", err)
		return
	}
	keeping.Go(func() { _ = a.wall.Mongod(ctx, conf.Port) }) // one that runs has its port in the rules of before, and is not kept waiting
	service := a.mongod(ctx, conf.Port)
	a.clock.Await(ctx, service.Daemon)
	keeping.Go(func() { a.join(ctx, conf.Port) })
	supervise.Run(ctx, a.Machine, service, a.tellMongod)
}

func (a *Agent) refuse(about string, err error) {
	sentence := strings.ReplaceAll(err.Error(), "\n", ": ") + "; mongod is not started"
	a.voice.Page(func(s *status.Status) { s.Phase = "degraded" })
	a.voice.Problem(about, sentence)
	a.voice.Say(about, "%s", sentence)
}
