package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"grove/internal/host"
)

// story runs a supervisor on a fake machine in fake time, and writes down what it tells.
type story struct {
	machine *host.FakeMachine
	service Service
	mu      sync.Mutex
	told    []string
}

func newStory(t *testing.T) *story {
	return &story{machine: &host.FakeMachine{}, service: Service{
		Daemon: host.Daemon{Path: "/usr/bin/mongod", Args: []string{"--config", "x"}}, Prepare: func() error { return nil }, Late: time.Minute,
		Ready: func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(3 * time.Second):
				return nil
			}
		},
		Words: func() string { return "its last words" }, Reaped: filepath.Join(t.TempDir(), "reaped"),
	}}
}

func (s *story) run(ctx context.Context) {
	begin := time.Now()
	Run(ctx, s.machine, s.service, func(e Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told = append(s.told, fmt.Sprintf("%.0f %s %d %s wait %s", time.Since(begin).Seconds(), e.Kind, e.PID, e.How, e.Wait))
	})
}

func (s *story) has(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.told, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(s.told, "\n"), strings.Join(want, "\n"))
	}
}

func TestProgramIsStartedAgainLaterEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		ctx, cancel := context.WithTimeout(t.Context(), 19500*time.Millisecond)
		defer cancel()
		s.machine.Spawned = func(p host.Running) {
			time.AfterFunc(time.Second, func() { s.machine.End(p.PID, "exit code 14") })
		}
		s.run(ctx)
		s.has(t, "0 started 100  wait 0s", "1 ended 100 exit code 14 wait 1s", "2 started 101  wait 0s", "3 ended 101 exit code 14 wait 2s",
			"5 started 102  wait 0s", "6 ended 102 exit code 14 wait 4s", "10 started 103  wait 0s", "11 ended 103 exit code 14 wait 8s",
			"19 started 104  wait 0s")
	})
}

func TestProgramThatRanLongStartsAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		ctx, cancel := context.WithTimeout(t.Context(), 1300*time.Second)
		defer cancel()
		s.machine.Spawned = func(p host.Running) {
			time.AfterFunc(601*time.Second, func() { s.machine.End(p.PID, "signal killed") })
		}
		s.run(ctx)
		s.has(t, "0 started 100  wait 0s", "3 ready 100  wait 0s", "601 ended 100 signal killed wait 1s", "602 started 101  wait 0s", "605 ready 101  wait 0s",
			"1203 ended 101 signal killed wait 1s", "1204 started 102  wait 0s", "1207 ready 102  wait 0s")
	})
}

func TestProgramOutlivesItsSupervisorAndIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		s.run(ctx)
		cancel()
		s.machine.Restart()
		if err := os.WriteFile(s.service.Reaped, []byte("99 exit code 0\n100 signal killed\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(5*time.Second, func() { s.machine.End(100, "signal killed") })
		ctx, cancel = context.WithTimeout(t.Context(), 6500*time.Millisecond)
		defer cancel()
		s.run(ctx)
		s.has(t, "0 started 100  wait 0s", "3 ready 100  wait 0s", "0 found 100  wait 0s", "3 ready 100  wait 0s", "5 ended 100 signal killed wait 1s",
			"6 started 101  wait 0s")
	})
}

func TestProgramThatCanNotStartIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		s.machine.Broken = map[string]error{"/usr/bin/mongod": errors.New("no such file")}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		s.run(ctx)
		s.has(t, "0 failed 0 start /usr/bin/mongod: no such file wait 1s", "1 failed 0 start /usr/bin/mongod: no such file wait 2s")
	})
}

func TestProgramThatDoesNotServeIsSpokenOfAndLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		s.service.Ready = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		ctx, cancel := context.WithTimeout(t.Context(), 1000*time.Second)
		defer cancel()
		s.run(ctx)
		s.has(t, "0 started 100  wait 0s", "60 late 100  wait 0s")
	})
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		if how, err := Stop(t.Context(), s.machine, s.service, time.Minute); how != "" || err != nil {
			t.Errorf("with nothing running: got %q, %v", how, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.run(ctx)
		if how, err := Stop(t.Context(), s.machine, s.service, time.Minute); how != "exit code 0" || err != nil {
			t.Errorf("one that obeys: got %q, %v", how, err)
		}
	})
}

// deaf does not end when it is told to.
type deaf struct{ *host.FakeMachine }

func (deaf) Terminate(host.Running) error { return nil }

func TestStopByForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.run(ctx)
		begin := time.Now()
		how, err := Stop(t.Context(), deaf{s.machine}, s.service, time.Minute)
		if how != "signal killed" || err != nil || time.Since(begin) != time.Minute {
			t.Errorf("got %q, %v after %s; want a kill after a minute", how, err, time.Since(begin))
		}
	})
}

func TestPause(t *testing.T) {
	for again, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 1000: time.Minute} {
		if got := pause(again); got != want {
			t.Errorf("%d: got %s; want %s", again, got, want)
		}
	}
}
