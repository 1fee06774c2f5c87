package clock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"grove/firstboot/status"
	"grove/internal/host"
)

// file is on the state partition.
const file = "/state/grove/clock"

const (
	keepEvery = 10 * time.Minute // the time for the next boot; a card wears out by writing
	keepAgain = time.Minute      // when it could not be written
	mongodMay = 15 * time.Second // how long mongod waits for a time server when the date is not known
)

// Node is the agent around it.
type Node interface {
	Say(format string, values ...any) // a line on the console, about the clock
	Page(change func(*status.Status))
	Status() status.Status
	Problem(about, sentence string) (news bool)
}

// Site is a node's clock from its start on. Root stands before every path, empty but in tests.
type Site struct {
	Machine host.Machine
	Root    string
	Image   time.Time
	Ask     func(ctx context.Context, server string) Sample
	Node    Node

	lists chan []string // of time servers, the newest
	sane  chan struct{} // closed when the clock is set, or nobody will set it
	once  sync.Once
	kept  chan struct{} // closed when there is a state partition to keep the time on
	none  bool          // it was said that there is no time server
	last  string        // what was said last of a fault
}

// Open comes before all else.
func (s *Site) Open() {
	s.lists, s.sane, s.kept = make(chan []string, 1), make(chan struct{}), make(chan struct{})
}

// Offer hands over the servers to be asked; none is an answer, too. It is called by one at a time.
func (s *Site) Offer(servers []string) {
	select { // in place of a list that was not taken yet
	case <-s.lists:
	default:
	}
	s.lists <- servers
}

// Run asks the time servers and keeps the time for the next boot, until ctx ends.
func (s *Site) Run(ctx context.Context) {
	var keeping sync.WaitGroup
	defer keeping.Wait()
	keeping.Go(func() { s.save(ctx) })
	lists := make(chan []string)
	keeping.Go(func() { s.filter(ctx, lists) })
	Keeper{Machine: s.Machine, Ask: s.Ask, Lists: lists, Tell: s.tell}.Run(ctx)
}

// filter passes lists of servers on, and says when there are none.
func (s *Site) filter(ctx context.Context, lists chan<- []string) {
	for {
		var servers []string
		select {
		case servers = <-s.lists:
		case <-ctx.Done():
			return
		}
		s.Node.Page(func(p *status.Status) { p.Clock.Servers = servers })
		if len(servers) == 0 {
			s.noServers()
			continue
		}
		select {
		case lists <- servers:
		case <-ctx.Done():
			return
		}
	}
}

// noServers is no problem by itself: a machine with a clock of its own may well do without.
func (s *Site) noServers() {
	if s.none {
		return
	}
	s.none = true
	s.Node.Say("no time server: the settings name none under network.ntp, and DHCP brings none; the clock runs on by itself")
	if s.Node.Status().Clock.Guessed {
		s.Node.Problem("clock", "the date is not known: the clock began at the image's time or at one kept, and there is no time server; name one under network.ntp")
	}
	s.settle()
}

func (s *Site) settle() { s.once.Do(func() { close(s.sane) }) }

// tell puts what has become of the clock on the page, and what is new on the console.
func (s *Site) tell(r Report) {
	if !r.From.IsZero() {
		s.Node.Say("was %s, is set by %+.3f s, by %s, stratum %d", r.From.UTC().Format(time.DateTime), r.Offset.Seconds(), r.Server, r.Stratum)
	}
	was := s.Node.Status().Clock
	s.Node.Page(func(p *status.Status) {
		c := &p.Clock
		c.Synced, c.Poor = r.Synced, r.Poor
		if r.Server != "" {
			c.Offset, c.Server, c.Stratum, c.Agree, c.Last = r.Offset.Seconds(), r.Server, r.Stratum, r.Agree, s.Machine.Uptime().Seconds()
			c.Guessed = c.Guessed && !r.Synced
		}
	})
	if r.Synced && !was.Synced {
		s.Node.Say("it is %s, by %s, stratum %d", s.Machine.Now().UTC().Format(time.DateTime), r.Server, r.Stratum)
	}
	if r.Synced {
		s.settle()
	}
	s.tellSilence(r)
}

// tellSilence says it once on the console; the page has since when.
func (s *Site) tellSilence(r Report) {
	sentence := ""
	if r.Fault != "" {
		sentence = fmt.Sprintf("no time from any server for %s: %s; the clock runs on by itself", r.Silent, r.Fault)
	}
	s.Node.Problem("clock", sentence)
	if r.Fault != "" && r.Fault != s.last {
		s.Node.Say("%s", sentence)
	}
	s.last = r.Fault
}

// Begin lets no clock begin before the image's time or that of the last boot. state says whether the state partition is mounted. An agent after the first, and a clock
// that is set already, leave it at that.
func (s *Site) Begin(state bool) {
	if state {
		defer close(s.kept)
	}
	if now := s.Node.Status(); now.Agent.Restarts > 0 || now.Clock.Synced {
		return
	}
	floor, from := Floor(s.Image, Kept(s.Root+file))
	now := s.Machine.Now()
	guessed := Guessed(now, s.Machine.Uptime(), floor) // PID 1 sets a clock to the image's time
	if now.Before(floor) {
		guessed = true
		if err := s.Machine.SetClock(floor); err != nil {
			s.Node.Problem("clock floor", err.Error())
		} else {
			s.Node.Say("was %s, is set to %s, %s", now.UTC().Format(time.DateTime), floor.UTC().Format(time.DateTime), from)
		}
	}
	s.Node.Page(func(p *status.Status) { p.Clock.Guessed = guessed })
}

// Await has mongod wait a little while the date is not known. One that runs already does not wait.
func (s *Site) Await(ctx context.Context, mongod host.Daemon) {
	if !s.Node.Status().Clock.Guessed || len(s.Machine.Find(mongod.Path, mongod.Args...)) > 0 {
		return
	}
	s.Node.Say("the date is not known, at the least it is %s; mongod waits for a time server, %s at the most", s.Machine.Now().UTC().Format(time.DateTime), mongodMay)
	select {
	case <-s.sane:
	case <-time.After(mongodMay):
		s.Node.Say("no time server has answered within %s; mongod starts all the same", mongodMay)
	case <-ctx.Done():
	}
}

// save keeps the time once it is right, then now and then, and at the agent's end.
func (s *Site) save(ctx context.Context) {
	select {
	case <-s.kept:
	case <-ctx.Done():
		return
	}
	every := time.NewTicker(keepEvery)
	defer every.Stop()
	for sane := s.sane; ; {
		select {
		case <-every.C:
		case <-sane:
			sane = nil
		case <-ctx.Done():
			_ = Keep(s.Root+file, s.Machine.Now()) // nobody would read why not
			return
		}
		err := Keep(s.Root+file, s.Machine.Now())
		s.Node.Problem("clock kept", word(err))
		every.Reset(pause(err))
	}
}

// pause is until the time is written again.
func pause(err error) time.Duration {
	if err != nil {
		return keepAgain
	}
	return keepEvery
}

func word(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
