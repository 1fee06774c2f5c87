package host

import (
	"testing"
	"time"
)

// The true clock is not touched here; that of a node is, in the lab.

func TestClockIsTheSystems(t *testing.T) {
	if off := time.Since((Real{}).Now()); off < 0 || off > time.Minute {
		t.Errorf("off by %s", off)
	}
}

func TestFakeClockIsSetAndSlewed(t *testing.T) {
	var f FakeMachine
	to := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	_ = f.SetClock(to)
	_ = f.SlewClock(200*time.Millisecond, time.Minute)
	if off := f.Now().Sub(to); off < 200*time.Millisecond || off > time.Minute {
		t.Errorf("off by %s", off)
	}
	if got := f.Turns(); len(got) != 2 || got[0] != "set to 2026-05-01 00:00:00" || got[1] != "slewed by 200ms" {
		t.Errorf("got %q", got)
	}
}
