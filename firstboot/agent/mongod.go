package agent

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"time"

	"grove/firstboot/mongod"
	"grove/firstboot/status"
	"grove/firstboot/supervise"
	"grove/internal/mongoconf"
)

// late is when a mongod that does not answer is spoken of. A recovery may well take longer.
const late = 2 * time.Minute

// mongodStops is how long mongod may take to write everything down and end: of a large cache on a slow disk, minutes.
const mongodStops = 120 * time.Second

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
