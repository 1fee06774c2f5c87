package step

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
)

type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) Started(s Step) Counter { l.add("start " + s.ID); return Silent{} }
func (l *log) Done(s Step, _ Outcome, _ time.Duration, err error) {
	if err != nil {
		l.add("fault " + s.ID)
		return
	}
	l.add("done " + s.ID)
}
func (l *log) add(line string) { l.mu.Lock(); l.lines = append(l.lines, line); l.mu.Unlock() }

func work(err error) func(context.Context, Counter) (Outcome, error) {
	return func(context.Context, Counter) (Outcome, error) { return Outcome{}, err }
}

func TestRunKeepsTheOrderOfNeeds(t *testing.T) {
	var l log
	err := Run(context.Background(), []Step{
		{ID: "a", Run: work(nil)}, {ID: "b", After: []string{"a"}, Run: work(nil)}, {ID: "c", After: []string{"a", "b"}, Run: work(nil)},
	}, &l)
	got, want := strings.Join(l.lines, ", "), "start a, done a, start b, done b, start c, done c"
	if err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func TestRunStopsAtTheFirstFaultAndNamesTheStep(t *testing.T) {
	var l log
	fault := errors.New("disk is full")
	err := Run(context.Background(), []Step{
		{ID: "a", Name: "write a", Run: work(fault)}, {ID: "b", After: []string{"a"}, Run: work(nil)},
	}, &l)
	if !errors.Is(err, fault) || err.Error() != "write a: disk is full" {
		t.Errorf("got %v; want write a: disk is full", err)
	}
	if got, want := strings.Join(l.lines, ", "), "start a, fault a"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

func TestRunEndsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var l log
	err := Run(ctx, []Step{{ID: "a", Run: func(ctx context.Context, _ Counter) (Outcome, error) {
		cancel()
		<-ctx.Done()
		return Outcome{}, ctx.Err()
	}}}, &l)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want cancelled", err)
	}
}

func TestRunRefusesAPlanThatCannotEnd(t *testing.T) {
	err := Run(context.Background(), []Step{{ID: "a", After: []string{"b"}}, {ID: "b"}}, &log{})
	if err == nil || !strings.HasPrefix(err.Error(), "BUG:") {
		t.Errorf("got %v; want a BUG", err)
	}
}
