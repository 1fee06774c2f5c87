// Package clock keeps a node's clock right: it asks time servers by NTP, takes what most of them agree on, steps the clock once and slews it after that.
//
// Boards have no clock battery, and mongod, certificates and logs want the time; so there is also a floor, below which no node's clock begins: what was kept of the
// last boot, or the image's own time. A node whose servers are silent goes on by its own clock. Whoever wants the offset to a millisecond wants chrony: this is
// RFC 4330 (SNTP) with several servers, not RFC 5905.
package clock

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"grove/internal/host"
)

// Keeper asks and sets.
type Keeper struct {
	Machine host.Clock
	Ask     func(ctx context.Context, server string) Sample
	Lists   <-chan []string // the servers, from the start and whenever they or the network have changed: they are asked at once
	Tell    func(Report)
}

// Report is what has become of one round of asking.
type Report struct {
	Verdict
	Synced bool          // the clock is right, by this round or one not long ago
	From   time.Time     // when it was stepped: what it showed before
	Next   time.Duration // until the next round
	Fault  string        // why there is no time, once that has lasted; empty when all is well
	Silent time.Duration // with Fault: since when
	Poor   []string      // servers that are not taken, and why
}

// The first rounds come quickly, as the network may not be there yet; then ever less often. Patience is how long nothing need be said of silence. A clock is trusted for
// six hours after an answer: a cheap crystal is off by a second then.
const (
	soonest  = time.Second
	steady   = 64 * time.Second
	longest  = 1024 * time.Second
	patience = 30 * time.Second
	trusted  = 6 * time.Hour
	answers  = 3 * time.Second // within which a server answers
)

// Most is how many servers are asked: four bear one that lies.
const Most = 5

// Run works until ctx ends.
func (k Keeper) Run(ctx context.Context) {
	s := state{wait: soonest}
	for ctx.Err() == nil {
		if len(s.servers) == 0 {
			select {
			case s.servers = <-k.Lists:
				s.asked = time.Now()
			case <-ctx.Done():
			}
			continue
		}
		k.Tell(k.round(ctx, &s))
		timer := time.NewTimer(s.wait)
		select {
		case <-timer.C:
		case s.servers = <-k.Lists:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// state is what is remembered from round to round.
type state struct {
	servers []string
	asked   time.Time     // for the first time
	good    time.Time     // the last answer; zero before
	vain    time.Time     // the first round in vain since then
	synced  bool          // by the last answer
	far     time.Duration // the last offset, if it was too far to be slewed
	wait    time.Duration
}

func (k Keeper) round(ctx context.Context, s *state) Report {
	samples := k.askAll(ctx, s.servers)
	r := Report{Poor: poor(samples)}
	v, err := Choose(samples)
	if err == nil {
		r.Verdict = v
		err = k.follow(v, s, &r)
	}
	if err != nil {
		r.Fault, r.Silent = s.inVain(err)
	}
	r.Synced, r.Next = s.synced && time.Since(s.good) < trusted, s.wait
	return r
}

// inVain takes note of a round without a time, and says so once that has lasted.
func (s *state) inVain(err error) (fault string, silent time.Duration) {
	if s.vain.IsZero() {
		s.vain, s.wait = time.Now(), soonest
	}
	s.wait = min(s.wait*2, steady)
	if time.Since(s.vain) < patience {
		return "", 0
	}
	last := s.good
	if last.IsZero() {
		last = s.asked
	}
	return err.Error(), time.Since(last).Round(time.Second)
}

// askAll asks side by side, each within its time.
func (k Keeper) askAll(ctx context.Context, servers []string) []Sample {
	servers = servers[:min(len(servers), Most)]
	ctx, cancel := context.WithTimeoutCause(ctx, answers, fmt.Errorf("no answer within %s", answers))
	defer cancel()
	all := make([]Sample, len(servers))
	var asking sync.WaitGroup
	for i, server := range servers {
		asking.Go(func() { all[i] = k.Ask(ctx, server) })
	}
	asking.Wait()
	return all
}

// follow sets the clock by a verdict.
func (k Keeper) follow(v Verdict, s *state, r *Report) error {
	act := Decide(v.Offset, s.good.IsZero(), s.far)
	if s.far = 0; act == Wait {
		s.far, s.wait = v.Offset, soonest
		return nil
	}
	if act == Step {
		r.From = k.Machine.Now()
		if err := k.Machine.SetClock(r.From.Add(v.Offset)); err != nil {
			return err
		}
		s.wait = steady
	} else {
		s.wait = min(max(s.wait*2, steady), longest)
		if err := k.Machine.SlewClock(v.Offset, s.wait); err != nil {
			return err
		}
	}
	s.good, s.vain, s.synced = time.Now(), time.Time{}, v.Offset.Abs() <= slews || act == Step
	return nil
}

// poor lists, in a person's words, the servers that are not taken.
func poor(samples []Sample) (list []string) {
	for _, s := range samples {
		if s.Refused != nil {
			list = append(list, fmt.Sprintf("%s: %v", s.Server, s.Refused))
		}
	}
	return list
}

// Servers puts the lists together, each server once.
func Servers(lists ...[]string) (all []string) {
	seen := map[string]bool{}
	for _, list := range lists {
		for _, server := range list {
			if key := strings.ToLower(server); !seen[key] {
				seen[key] = true
				all = append(all, server)
			}
		}
	}
	return all
}
