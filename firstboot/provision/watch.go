package provision

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"grove/firstboot/facts"
	"grove/firstboot/facts/sysfs"
	"grove/firstboot/journal"
	"grove/firstboot/plan"
	"grove/firstboot/plan/swap"
	"grove/firstboot/raid"
	"grove/firstboot/status"
	"grove/firstboot/storage"
)

// How often the arrays are looked at, some ten files of /sys each; when all disks are looked at again though nothing has changed, while something is left to do;
// and how long swap waits for mongod, which is what the node is for.
const (
	watching   = 5 * time.Second
	looksAgain = 15 * time.Second
	swapMay    = time.Minute
)

// Keep watches the arrays, has all disks looked at when some come or go, and sees to swap, until ctx ends. Nothing but a change is looked into before mongod runs.
func (s *Site) Keep(ctx context.Context) {
	if s.Image.Storage == nil && len(s.Image.Swap) == 0 {
		return
	}
	swapping := s.swapRun()
	swapped, seen := len(s.Image.Swap) == 0, ""
	hurried := false
	begin, last := s.Machine.Uptime(), -looksAgain
	for ctx.Err() == nil {
		now := s.Machine.Uptime()
		changed := s.watch(&seen)
		calm := s.Node.Status().Mongod.State == "ready" || now-begin > swapMay
		if calm && !hurried {
			_, hurried = raid.Bound(s.Root, raid.Hurry), true // there is none without an array
		}
		again := changed || calm && now-last >= looksAgain
		if s.Image.Storage != nil && again && (changed || !s.done) {
			_, _ = s.run().Once(ctx) // what fails is told
			last = now
		}
		if !swapped && again && calm {
			p, err := swapping.Once(ctx)
			swapped, last = err == nil && p.Done(), now
		}
		select {
		case <-ctx.Done():
		case <-time.After(watching):
		}
	}
}

// watch puts the arrays on the page and tells of those that lost a disk or have it back. It says whether the disks should be looked at again.
func (s *Site) watch(seen *string) (changed bool) {
	arrays := s.arrays()
	var key strings.Builder
	for _, a := range arrays {
		fmt.Fprint(&key, a.Name, a.Working, a.Faulty, a.Sync, "\n")
	}
	if disks, err := sysfs.Disks(s.Root); err == nil {
		for _, d := range disks {
			fmt.Fprint(&key, d.Name, d.Serial, d.Size, "\n")
		}
	}
	fmt.Fprint(&key, words(s.Root+Rebuild))
	changed = *seen != "" && *seen != key.String()
	*seen = key.String()
	s.Node.Page(func(now *status.Status) { now.Storage.Arrays = arrays })
	return changed
}

// arrays says of each since when it lacks a disk, and speaks of what is new.
func (s *Site) arrays() (all []status.Array) {
	before := s.Node.Status().Storage.Arrays
	var lacking []string
	for _, a := range sysfs.Arrays(s.Root) {
		now := status.Array{Name: a.Name, Level: a.Level, Disks: a.Disks, Working: a.Working, Degraded: a.Working < a.Disks, Members: []string{}, Percent: percent(a.Done)}
		if a.Sync != "idle" {
			now.Sync = a.Sync
		}
		for _, m := range a.Members {
			if strings.Contains(m.State, "faulty") {
				now.Faulty = append(now.Faulty, m.Name)
			} else {
				now.Members = append(now.Members, m.Name)
			}
		}
		was := status.Array{}
		if at := slices.IndexFunc(before, func(b status.Array) bool { return b.Name == a.Name }); at >= 0 {
			was = before[at]
		}
		now.Since = s.since(was, now)
		if now.Degraded {
			lacking = append(lacking, fmt.Sprintf("%s, %s, is degraded since %.0f s: %d of %d disks work", now.Name, now.Level, now.Since, now.Working, now.Disks))
		}
		all = append(all, now)
	}
	s.Node.Problem("array", strings.Join(lacking, "; "))
	return all
}

func (s *Site) since(was, now status.Array) float64 {
	switch {
	case now.Degraded && !was.Degraded:
		s.Node.Say("%s, %s, is degraded: %d of %d disks work: %s", now.Name, now.Level, now.Working, now.Disks, strings.Join(now.Members, ", "))
		return s.uptime()
	case was.Degraded && !now.Degraded:
		s.Node.Say("%s, %s, is whole again after %.0f s", now.Name, now.Level, s.uptime()-was.Since)
		return 0
	case now.Sync != was.Sync && now.Sync != "":
		s.Node.Say("%s, %s: %s begins", now.Name, now.Level, now.Sync)
	case now.Sync != was.Sync:
		s.Node.Say("%s, %s: %s is done", now.Name, now.Level, was.Sync)
	}
	return was.Since
}

// percent reads `2048 / 1046528`.
func percent(done string) float64 {
	var a, b float64
	if n, _ := fmt.Sscanf(done, "%f / %f", &a, &b); n < 2 || b == 0 {
		return 0
	}
	return float64(int(a/b*1000)) / 10
}

// swapRun is that of swap, which begins when mongod runs: it may take long, and nothing waits for it.
func (s *Site) swapRun() *storage.Run {
	r := s.run()
	r.Partly = true
	r.Decide = func(w plan.Want, have facts.Have, records []journal.Record) plan.Plan {
		p := swap.Decide(w, have, plan.Picks{Disks: s.picks}, records)
		s.Node.Page(func(now *status.Status) {
			now.Storage.Swap = nil
			for _, r := range p.Refused {
				now.Storage.Swap = append(now.Storage.Swap, status.Refusal(r))
			}
		})
		return p
	}
	r.Tell = func(e storage.Event) {
		if e.Kind == storage.Planned {
			s.tellPlan("swap", e.Plan)
			s.showSwaps()
			return
		}
		s.tell(e)
	}
	return r
}

func (s *Site) showSwaps() {
	var all []status.Swap
	for _, line := range lines(s.Root + "/proc/swaps") {
		one := status.Swap{}
		var kind string
		var kib int64
		if n, _ := fmt.Sscan(line, &one.Device, &kind, &kib); n == 3 && strings.HasPrefix(one.Device, "/") {
			one.Size = kib << 10
			all = append(all, one)
		}
	}
	s.Node.Page(func(now *status.Status) { now.Storage.Swaps = all })
}
