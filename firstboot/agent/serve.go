package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"grove/firstboot/disk"
	"grove/firstboot/mongod"
	"grove/firstboot/status"
	"grove/firstboot/supervise"
	"grove/internal/mongoconf"
)

// late is when a mongod that does not answer is spoken of. A recovery may well take longer.
const late = 2 * time.Minute

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

func (a *Agent) configure(ctx context.Context) (mongoconf.Config, error) {
	access, err := a.mongodAccess(ctx)
	if err != nil {
		return mongoconf.Config{}, err
	}
	memory, err := a.Machine.Memory()
	if err != nil {
		return mongoconf.Config{}, err
	}
	journal, err := mongod.Journal(a.Machine, a.Root, a.places)
	if err != nil {
		return mongoconf.Config{}, err
	}
	server := mongoconf.Server{Version: a.image.Mongod.Version, Arch: arch()}
	conf, err := mongoconf.Make(server, a.image.Mongod.Config, mongoconf.Machine{Memory: memory, Journal: journal, Places: a.places, Access: access})
	if err != nil {
		return conf, err
	}
	a.voice.Page(func(s *status.Status) { s.Mongod.Port = conf.Port })
	return conf, status.Replace(a.Root+mongod.Conf, conf.Text)
}

// mongod is the service. Whatever starts it anew has the rules of the firewall in place first.
func (a *Agent) mongod(ctx context.Context, port int) supervise.Service {
	return supervise.Service{
		Daemon: a.tuner.Daemon(mongod.Daemon(a.Root)),
		Prepare: func() error {
			if err := a.wall.Mongod(ctx, port); err != nil {
				return err // ctx's
			}
			if err := mongod.Folders(a.Machine, a.Root, a.places); err != nil {
				return err
			}
			if err := a.beginSet(); err != nil {
				return err
			}
			return mongod.Room(a.Machine, a.Root, a.places)
		},
		Ready:  func(ctx context.Context) error { return a.Ready(ctx, port) },
		Late:   late,
		Words:  func() string { return a.space.Blame(mongod.LastWords(a.Root+a.places.Log, a.Root+mongod.Output)) },
		Reaped: a.Root + status.Reaped,
	}
}

// tellMongod puts what has become of mongod on the page and the console.
func (a *Agent) tellMongod(e supervise.Event) {
	version := a.image.Mongod.Version
	switch e.Kind {
	case supervise.Started, supervise.Found:
		_ = status.Replace(a.Root+mongod.PID, []byte(strconv.Itoa(e.PID)+"\n"))
		a.mongodIs("starting", e.PID, "starting")
		a.voice.Say("mongod", "%s %s, pid %d", version, e.Kind, e.PID)
		a.site.Served()
		a.tuner.Runs(e.PID)
	case supervise.Ready:
		a.voice.Problem("mongod", "")
		a.voice.Page(func(s *status.Status) { s.Mongod.ReadyAfterS = float64(e.Took.Milliseconds()) / 1000 })
		a.mongodIs("ready", e.PID, "serving")
		a.voice.Say("mongod", "%s answers on %s, pid %d", version, netip.AddrPortFrom(a.presence.Address(), uint16(a.voice.Status().Mongod.Port)), e.PID)
		a.tuner.Serves(a.voice.Status().Mongod.Port)
		a.first.Do(func() { close(a.answered) })
	case supervise.Late:
		a.voice.Problem("mongod", fmt.Sprintf("has not answered for %s; see %s", e.Took, a.places.Log))
		a.voice.Say("mongod", "%s, pid %d, has not answered for %s; it is waited for", version, e.PID, e.Took)
	case supervise.Ended:
		_ = os.Remove(a.Root + mongod.PID)
		a.mongodIs("waiting", 0, "waiting")
		a.tuner.Runs(0)
		a.voice.Page(func(s *status.Status) { s.Mongod.LastExit, s.Mongod.Restarts = e.How, s.Mongod.Restarts+1 })
		a.voice.Problem("mongod", fmt.Sprintf("ended: %s", e.How))
		a.voice.Say("mongod", "%s, pid %d, ended: %s; starts again in %s; it said last: %s", version, e.PID, e.How, e.Wait, e.Said)
	case supervise.Failed:
		a.mongodIs("waiting", 0, "degraded")
		a.voice.Problem("mongod", e.How)
		a.voice.Say("mongod", "%s; next attempt in %s", e.How, e.Wait)
	}
}

func (a *Agent) mongodIs(state string, pid int, phase string) {
	a.voice.Page(func(s *status.Status) {
		s.Mongod.State, s.Mongod.PID, s.Mongod.Since, s.Phase = state, pid, a.voice.Uptime(), phase
	})
}

// stopMongod is the agent's last act when the node goes down.
func (a *Agent) stopMongod() error {
	now := a.voice.Status()
	if now.Mongod.PID == 0 {
		a.voice.Say("stop", "no mongod runs")
		return nil
	}
	a.mongodIs("stopping", now.Mongod.PID, "stopping")
	a.voice.Say("stop", "mongod, pid %d, is told to end; it has %s", now.Mongod.PID, mongodStops)
	begin := a.Machine.Uptime()
	how, err := supervise.Stop(context.Background(), a.Machine, a.mongod(context.Background(), now.Mongod.Port), mongodStops)
	if err != nil {
		return fmt.Errorf("stop mongod: %w", err)
	}
	a.mongodIs("stopped", 0, "stopping")
	a.voice.Say("stop", "mongod ended after %.1f s: %s", (a.Machine.Uptime() - begin).Seconds(), how)
	return nil
}
