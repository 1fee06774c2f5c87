// Package supervise keeps one program running: it takes over one that runs already, starts it when none does, and starts it again when it ends, later
// each time.
//
// The program outlives its supervisor. An agent that starts anew finds it by what it runs, not by a number in a file, so that no crash of the agent, at
// whatever point, makes a second one.
package supervise

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"grove/internal/host"
)

// Service is the program and what is to be known of it.
type Service struct {
	Daemon  host.Daemon
	Prepare func() error                // before each start
	Ready   func(context.Context) error // waits until the program serves
	Late    time.Duration               // after which a program that does not serve is spoken of; it is not ended, as it may be recovering
	Words   func() string               // its last ones, "" if there are none
	Reaped  string                      // file in which PID 1 says how orphans ended
}

// Event is what has become of the program.
type Event struct {
	Kind Kind
	PID  int
	How  string        // Ended, Failed: how or why
	Said string        // Ended: its last words
	Took time.Duration // Ready: since its start; Ended: how long it ran, if this supervisor knows
	Wait time.Duration // Ended, Failed: until the next start
}

// Kind of an event.
type Kind string

// The kinds, in the order in which they come.
const (
	Found   Kind = "found" // running, started by an earlier supervisor
	Started Kind = "started"
	Ready   Kind = "ready"
	Late    Kind = "late"
	Ended   Kind = "ended"
	Failed  Kind = "failed" // to start
)

// Run keeps the program running until ctx ends, and then leaves it as it is. tell is called for one event at a time.
func Run(ctx context.Context, machine host.Machine, s Service, tell func(Event)) {
	for again := 0; ctx.Err() == nil; {
		began := time.Now()
		end := s.once(ctx, machine, tell)
		if ctx.Err() != nil {
			return
		}
		again = next(again, time.Since(began))
		end.Wait = pause(again)
		tell(end)
		select {
		case <-ctx.Done():
		case <-time.After(end.Wait):
		}
	}
}

// once goes from a start, or from finding it, to the end.
func (s Service) once(ctx context.Context, machine host.Machine, tell func(Event)) Event {
	began, kind := time.Now(), Found
	found := machine.Find(s.Daemon.Path, s.Daemon.Args...)
	if len(found) == 0 {
		kind = Started
		p, err := s.start(machine)
		if err != nil {
			return Event{Kind: Failed, How: err.Error()}
		}
		found = append(found, p)
	}
	p := found[0]
	tell(Event{Kind: kind, PID: p.PID})
	alive, dead := context.WithCancel(ctx)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		s.watchReady(alive, p, began, tell)
	}()
	how, err := machine.Wait(ctx, p)
	dead()
	<-asked
	if err != nil {
		how = err.Error()
	} else if how == "" {
		how = s.reaped(ctx, p.PID)
	}
	return Event{Kind: Ended, PID: p.PID, How: how, Said: s.Words(), Took: time.Since(began)}
}

func (s Service) start(machine host.Machine) (host.Running, error) {
	if err := s.Prepare(); err != nil {
		return host.Running{}, err
	}
	return machine.Spawn(s.Daemon)
}

func (s Service) watchReady(ctx context.Context, p host.Running, began time.Time, tell func(Event)) {
	ready := make(chan error, 1)
	go func() { ready <- s.Ready(ctx) }()
	late := time.NewTimer(s.Late)
	defer late.Stop()
	for {
		select {
		case err := <-ready:
			if err == nil {
				tell(Event{Kind: Ready, PID: p.PID, Took: time.Since(began)})
			}
			return
		case <-late.C:
			tell(Event{Kind: Late, PID: p.PID, Took: s.Late})
		}
	}
}

// steady is how long a program runs that had no lasting trouble.
const steady = 10 * time.Minute

func next(again int, ran time.Duration) int {
	if ran >= steady {
		return 1
	}
	return again + 1
}

// pause is 1, 2, 4, ... seconds, a minute at most.
func pause(again int) time.Duration {
	return min(time.Second<<min(again-1, 10), time.Minute)
}

// reaped asks PID 1's notes how an orphan ended. They are written a moment after its end is seen.
func (s Service) reaped(ctx context.Context, pid int) string {
	for range 20 {
		data, _ := os.ReadFile(s.Reaped)
		lines := strings.Split(string(data), "\n")
		for i := len(lines) - 1; i >= 0; i-- {
			if how, found := strings.CutPrefix(lines[i], fmt.Sprintf("%d ", pid)); found {
				return how
			}
		}
		select {
		case <-ctx.Done():
			return "nobody saw how"
		case <-time.After(25 * time.Millisecond):
		}
	}
	return "nobody saw how"
}

// Stop ends the program: in order if it does so within the time, else by force. It says how it ended, "" if none ran.
func Stop(ctx context.Context, machine host.Machine, s Service, within time.Duration) (how string, err error) {
	for _, p := range machine.Find(s.Daemon.Path, s.Daemon.Args...) {
		if how, err = s.stop(ctx, machine, p, within); err != nil {
			return how, err
		}
	}
	return how, nil
}

func (s Service) stop(ctx context.Context, machine host.Machine, p host.Running, within time.Duration) (how string, err error) {
	if err := machine.Terminate(p); err != nil {
		return "", err
	}
	patient, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	how, err = machine.Wait(patient, p)
	if err != nil && ctx.Err() == nil && patient.Err() != nil {
		if err := machine.Kill(p); err != nil {
			return "", err
		}
		how, err = machine.Wait(ctx, p)
	}
	if err == nil && how == "" {
		how = s.reaped(ctx, p.PID)
	}
	return how, err
}
