// Package step runs a plan: named pieces of work, each of which starts when those it needs are done.
//
// A step's name is a sentence without a subject; the same words stand in the printed plan, the progress line, the log and
// the error.
package step

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Step is one piece of work.
type Step struct {
	ID    string   // short handle for After, unique in a plan
	Name  string   // `make squashfs of the system, zstd level 6`
	After []string // IDs of the steps that must be done before
	Run   func(ctx context.Context, count Counter) (Outcome, error)
}

// Outcome says what a step found: Reused when an earlier result served, Why the reason for doing it afresh or not.
type Outcome struct {
	Reused bool
	Why    string
}

// Counter takes a step's progress in any unit, usually bytes. Both may be called at any time from any goroutine; a nil Counter is not allowed, use Silent.
type Counter interface {
	Total(n int64) // how much there is in all, may grow
	Add(n int64)   // how much more is done
}

// Observer sees a plan run. Its methods may be called from several goroutines.
type Observer interface {
	Started(s Step) Counter
	Done(s Step, out Outcome, took time.Duration, err error)
}

// Silent counts nothing.
type Silent struct{}

func (Silent) Total(int64) {}
func (Silent) Add(int64)   {}

// Run does all steps, side by side where After allows, at most twice as many at once as there are processors, since many wait for the network. The first
// error cancels the rest and is returned with the step's name before it, once all running steps have ended.
func Run(ctx context.Context, steps []Step, see Observer) error {
	done, err := gates(steps)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	places := make(chan struct{}, 2*runtime.NumCPU())
	var all sync.WaitGroup
	for _, s := range steps {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := one(ctx, s, done, places, see); err != nil {
				cancel(err)
				return
			}
			close(done[s.ID])
		}()
	}
	all.Wait()
	return context.Cause(ctx)
}

// gates makes a channel a step, closed when it is done, and refuses plans that could never end.
func gates(steps []Step) (map[string]chan struct{}, error) {
	done := map[string]chan struct{}{}
	for _, s := range steps {
		for _, need := range s.After {
			if done[need] == nil {
				return nil, fmt.Errorf("BUG: step %q comes after %q, which is not before it in the plan", s.ID, need)
			}
		}
		if done[s.ID] != nil {
			return nil, fmt.Errorf("BUG: two steps are called %q", s.ID)
		}
		done[s.ID] = make(chan struct{})
	}
	return done, nil
}

func one(ctx context.Context, s Step, done map[string]chan struct{}, places chan struct{}, see Observer) error {
	for _, need := range s.After {
		select {
		case <-done[need]:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	start := time.Now()
	out, err := s.Run(ctx, see.Started(s))
	see.Done(s, out, time.Since(start), err)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}
