package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"grove/firstboot/clock"
	"grove/firstboot/status"
	"grove/internal/host"
)

const (
	clockFile = stateFolder + "/grove/clock"
	keepEvery = 10 * time.Minute // the time for the next boot; a card wears out by writing
	clockMay  = 15 * time.Second // how long mongod waits for a time server when the date is not known
	amazon    = "169.254.169.123"
)

// timing is how the clock comes to be right.
type timing struct {
	lists chan []string // of time servers, the newest
	sane  chan struct{} // closed when the clock is set, or nobody will set it
	once  sync.Once
	kept  chan struct{} // closed when there is a state partition to keep the time on
	none  bool          // it was said that there is no time server
	last  string        // what was said last of a fault
}

func newTiming() *timing {
	return &timing{lists: make(chan []string, 1), sane: make(chan struct{}), kept: make(chan struct{})}
}

func (t *timing) settle() { t.once.Do(func() { close(t.sane) }) }

// offer hands over the servers to be asked. It is called with naming locked.
func (t *timing) offer(servers []string) {
	if servers == nil {
		return // it is not known yet
	}
	select { // in place of a list that was not taken yet
	case <-t.lists:
	default:
	}
	t.lists <- servers
}

// servers are a person's time servers, then those of DHCP, else Amazon's own on its machines. nil: it is not known yet; empty: there is none.
func servers(n *naming) []string {
	var dhcp []string
	for _, h := range n.leases {
		for _, a := range h.lease.NTP {
			dhcp = append(dhcp, a.String())
		}
	}
	all := clock.Servers(n.network.NTP, dhcp)
	switch {
	case !n.looked:
		return nil
	case len(all) == 0 && n.ec2:
		return []string{amazon}
	case len(all) == 0 && len(n.leases) > 0:
		return []string{}
	}
	return all
}

// keepTime asks the time servers and keeps the time for the next boot.
func (a *Agent) keepTime(ctx context.Context) {
	var keeping sync.WaitGroup
	keeping.Go(func() { a.saveTime(ctx) })
	defer keeping.Wait()
	lists := make(chan []string)
	keeping.Go(func() { a.filterTime(ctx, lists) })
	clock.Keeper{Machine: a.Machine, Ask: a.Wire.Time, Lists: lists, Tell: a.tellTime}.Run(ctx)
}

// filterTime passes lists of servers on, and says when there are none.
func (a *Agent) filterTime(ctx context.Context, lists chan<- []string) {
	for {
		var servers []string
		select {
		case servers = <-a.timing.lists:
		case <-ctx.Done():
			return
		}
		a.page.set(func(s *status.Status) { s.Clock.Servers = servers })
		if len(servers) == 0 {
			a.noServers()
			continue
		}
		a.page.problem("clock", "")
		select {
		case lists <- servers:
		case <-ctx.Done():
			return
		}
	}
}

// noServers is no problem by itself: a machine with a clock of its own may well do without.
func (a *Agent) noServers() {
	if a.timing.none {
		return
	}
	a.timing.none = true
	a.say("clock", "no time server: the settings name none under network.ntp, and DHCP brings none; the clock runs on by itself")
	if a.page.read().Clock.Guessed {
		a.page.problem("clock", "the date is not known: the clock began at the image's time or at one kept, and no time server is configured; name one under network.ntp")
	}
	a.timing.settle()
}

// tellTime puts what has become of the clock on the page, and what is new on the console.
func (a *Agent) tellTime(r clock.Report) {
	if !r.From.IsZero() {
		a.say("clock", "was %s, is set by %+.3f s, by %s, stratum %d", r.From.UTC().Format(time.DateTime), r.Offset.Seconds(), r.Server, r.Stratum)
	}
	was := a.page.read().Clock
	a.page.set(func(s *status.Status) {
		c := &s.Clock
		c.Synced, c.Poor = r.Synced, r.Poor
		if r.Server != "" {
			c.Offset, c.Server, c.Stratum, c.Agree, c.Last = r.Offset.Seconds(), r.Server, r.Stratum, r.Agree, a.uptime()
			c.Guessed = c.Guessed && !r.Synced
		}
	})
	if r.Synced && !was.Synced {
		a.say("clock", "it is %s, by %s, stratum %d", a.Machine.Now().UTC().Format(time.DateTime), r.Server, r.Stratum)
	}
	if r.Synced {
		a.timing.settle()
	}
	a.tellSilence(r)
}

// tellSilence says it once on the console; the page has since when.
func (a *Agent) tellSilence(r clock.Report) {
	sentence := ""
	if r.Fault != "" {
		sentence = fmt.Sprintf("no time from any server for %s: %s; the clock runs on by itself", r.Silent, r.Fault)
	}
	a.page.problem("clock", sentence)
	if r.Fault != "" && r.Fault != a.timing.last {
		a.say("clock", "%s", sentence)
	}
	a.timing.last = r.Fault
}

// floorTime lets no clock begin before the image's time or that of the last boot. The state partition is mounted, if there is one.
func (a *Agent) floorTime(state bool) {
	if state {
		defer close(a.timing.kept)
	}
	if now := a.page.read(); now.Agent.Restarts > 0 || now.Clock.Synced {
		return // an agent before this one has done so, or there is no need to
	}
	floor, from := clock.Floor(time.Unix(a.image.Time, 0), clock.Kept(a.Root+clockFile))
	now := a.Machine.Now()
	if now.Before(floor) {
		err := a.Machine.SetClock(floor)
		a.problemIf("clock floor", err)
		if err == nil {
			a.say("clock", "was %s, is set to %s, %s", now.UTC().Format(time.DateTime), floor.UTC().Format(time.DateTime), from)
		}
		now = a.Machine.Now()
	}
	guessed := clock.Guessed(now, a.Machine.Uptime(), floor)
	a.page.set(func(s *status.Status) { s.Clock.Guessed = guessed })
}

// awaitTime has mongod wait a little while the date is not known. One that runs already does not wait.
func (a *Agent) awaitTime(ctx context.Context, mongod host.Daemon) {
	if !a.page.read().Clock.Guessed || len(a.Machine.Find(mongod.Path, mongod.Args...)) > 0 {
		return
	}
	a.say("clock", "the date is not known, at the least it is %s; mongod waits for a time server, %s at the most", a.Machine.Now().UTC().Format(time.DateTime), clockMay)
	select {
	case <-a.timing.sane:
	case <-time.After(clockMay):
		a.say("clock", "no time server has answered within %s; mongod starts all the same", clockMay)
	case <-ctx.Done():
	}
}

// saveTime keeps the time now and then, and at the agent's end.
func (a *Agent) saveTime(ctx context.Context) {
	select {
	case <-a.timing.kept:
	case <-ctx.Done():
		return
	}
	every := time.NewTicker(keepEvery)
	defer every.Stop()
	for sane := a.timing.sane; ; {
		a.problemIf("clock kept", clock.Keep(a.Root+clockFile, a.Machine.Now()))
		select {
		case <-every.C:
		case <-sane:
			sane = nil
		case <-ctx.Done():
			_ = clock.Keep(a.Root+clockFile, a.Machine.Now()) // nobody would read why not
			return
		}
	}
}
