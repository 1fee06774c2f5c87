package clock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
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

const second = time.Second

func says(server string, offset time.Duration) Sample {
	return Sample{Server: server, Offset: offset, Error: 10 * time.Millisecond, Stratum: 2}
}

func mute(server string) Sample { return Sample{Server: server, Refused: errors.New("no answer")} }

func TestMostServersAreRight(t *testing.T) {
	for _, c := range []struct {
		name    string
		samples []Sample
		offset  time.Duration
		server  string
		err     string
	}{
		{"one alone", []Sample{says("a", second)}, second, "a", ""},
		{"one that lies among three", []Sample{says("a", time.Hour), says("b", second), says("c", second+time.Millisecond)}, second, "b", ""},
		{"the middle one of three", []Sample{says("a", second+2*time.Millisecond), says("b", second), says("c", second+time.Millisecond)}, second + time.Millisecond, "c", ""},
		{"a silent one does not count", []Sample{mute("a"), says("b", second)}, second, "b", ""},
		{"of two that differ none", []Sample{says("a", 0), says("b", time.Hour)}, 0, "", "the servers differ: a says +0.000 s, b says +3600.000 s"},
		{"two against two", []Sample{says("a", 0), says("b", 0), says("c", second), says("d", second)}, 0, "", "the servers differ"},
		{"all silent", []Sample{mute("a"), mute("b")}, 0, "", "a: no answer, b: no answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Choose(c.samples)
			if got.Offset != c.offset || got.Server != c.server || (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestClockIsSteppedAtTheStartAndSlewedLater(t *testing.T) {
	for _, c := range []struct {
		name   string
		offset time.Duration
		first  bool
		far    time.Duration
		want   Act
	}{
		{"at the start, half a second", second / 2, true, 0, Slew},
		{"at the start, more", -second, true, 0, Step},
		{"later, a second", second, false, 0, Slew},
		{"later, a minute, said once", time.Minute, false, 0, Wait},
		{"later, a minute, said twice", time.Minute + second/4, false, time.Minute, Step},
		{"later, a minute, after an hour", time.Minute, false, time.Hour, Wait},
	} {
		if got := Decide(c.offset, c.first, c.far); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// world is a machine whose clock is a year late, and servers that know better.
type world struct {
	machine *host.FakeMachine
	mu      sync.Mutex
	right   func() time.Time
	silent  bool
	lists   chan []string
	said    []string
	reports []Report
}

func newWorld(late time.Duration) *world {
	w := &world{machine: &host.FakeMachine{}, right: time.Now, lists: make(chan []string, 1)}
	w.machine.Clock.Skew = -late
	return w
}

// later changes the servers.
func (w *world) later(d time.Duration, change func()) {
	time.AfterFunc(d, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		change()
	})
}

func (w *world) ask(_ context.Context, server string) Sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.silent {
		return mute(server)
	}
	return says(server, w.right().Sub(w.machine.Now()))
}

// during runs the keeper for a time and lists what it did and told, with the seconds.
func (w *world) during(t *testing.T, d time.Duration) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	Keeper{w.machine, w.ask, w.lists, func(r Report) {
		w.reports = append(w.reports, r)
		done := strings.Join(w.machine.Turns(), ", ")
		w.said = append(w.said, strings.TrimSpace(fmt.Sprintf("%.0f %s %s", time.Since(begin).Seconds(), done, fault(r))))
	}}.Run(ctx)
}

func fault(r Report) string {
	if r.Fault == "" {
		return ""
	}
	return fmt.Sprintf("no time for %s: %s", r.Silent, r.Fault)
}

func TestClockIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(time.Hour)
		w.lists <- []string{"a"}
		w.during(t, 10*time.Minute)
		want := []string{"0 set to 2000-01-01 00:00:00", "64 slewed by 0s", "192 slewed by 0s", "448 slewed by 0s"}
		if !slices.Equal(w.said, want) {
			t.Errorf("got %q, want %q", w.said, want)
		}
		if r := w.reports[0]; !r.Synced || r.From.Add(time.Hour).Sub(time.Now()) > 0 || r.Server != "a" {
			t.Errorf("got %+v", r)
		}
	})
}

func TestSilenceIsSpokenOfAfterAWhileAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(0)
		w.silent = true
		w.lists <- []string{"a", "b"}
		w.later(130*time.Second, func() { w.silent = false })
		w.during(t, 3*time.Minute)
		const silent = ": a: no answer, b: no answer"
		want := []string{"0", "2", "6", "14", "30  no time for 30s" + silent, "62  no time for 1m2s" + silent, "126  no time for 2m6s" + silent}
		if !slices.Equal(w.said, want) {
			t.Errorf("got %q, want %q", w.said, want)
		}
	})
}

func TestNetworkThatComesIsAnOccasionToAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(time.Hour)
		w.silent = true
		w.lists <- []string{"a"}
		w.later(40*time.Second, func() { w.silent = false; w.lists <- []string{"b"} })
		w.during(t, 50*time.Second)
		if last := w.reports[len(w.reports)-1]; last.Server != "b" || !last.Synced || !strings.HasPrefix(w.said[len(w.said)-1], "40 set to") {
			t.Errorf("got %q", w.said)
		}
	})
}

func TestServerThatGoesWrongLaterIsNotFollowedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(0)
		w.lists <- []string{"a"}
		w.later(10*second, func() { w.right = func() time.Time { return time.Now().Add(time.Hour) } })
		w.later(64*second+second/2, func() { w.right = time.Now })
		w.during(t, 10*time.Minute)
		if got := strings.Join(w.said, "; "); strings.Contains(got, "set to") {
			t.Errorf("got %s", got)
		}
	})
}

func TestFloor(t *testing.T) {
	image := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		kept time.Time
		want time.Time
	}{
		{"nothing kept", time.Time{}, image},
		{"kept by an older image", image.AddDate(-1, 0, 0), image},
		{"kept of the last boot", image.AddDate(0, 0, 3), image.AddDate(0, 0, 3)},
		{"kept of a clock that was wrong", image.AddDate(60, 0, 0), image},
	} {
		if got, _ := Floor(image, c.kept); !got.Equal(c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	if !Guessed(image.Add(7*second), 8*second, image) || Guessed(image.Add(9*second), 8*second, image) {
		t.Error("a clock that PID 1 has set to the floor is guessed, one that has run since before it is not")
	}
}

func TestTimeIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grove", "clock")
	if !Kept(file).IsZero() {
		t.Error("nothing was kept, and is read")
	}
	want := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	if err := Keep(file, want); err != nil || !Kept(file).Equal(want) {
		t.Errorf("got %s, %v", Kept(file), err)
	}
	if err := os.Symlink("/dev/full", file+".new"); err != nil { // what is written there finds no room
		t.Fatal(err)
	}
	if err := Keep(file, want.Add(time.Hour)); err == nil || !Kept(file).Equal(want) {
		t.Errorf("on a full disk: got %s, %v", Kept(file), err)
	}
	if err := Keep(file, want.Add(time.Hour)); err != nil || !Kept(file).Equal(want.Add(time.Hour)) {
		t.Errorf("with room again: got %s, %v", Kept(file), err)
	}
	if err := os.WriteFile(file, []byte("2026-0"), 0o600); err != nil || !Kept(file).IsZero() {
		t.Errorf("of half a line: got %s, %v", Kept(file), err)
	}
}

// serve is an NTP server on the loopback, whose answers are made by change out of right ones.
func serve(t *testing.T, change func([]byte)) (address string) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		for {
			var p [48]byte
			_, from, err := c.ReadFrom(p[:])
			if err != nil {
				return
			}
			copy(p[24:32], p[40:48])
			p[0], p[1] = 4<<3|4, 2
			now := uint64(time.Now().Add(time.Hour).Unix()+2208988800) << 32
			for _, at := range []int{16, 32, 40} {
				binary.BigEndian.PutUint64(p[at:], now)
			}
			change(p[:])
			c.WriteTo(p[:], from)
		}
	}()
	return c.LocalAddr().String()
}

func TestAnswersAreReadOffTheWire(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func([]byte)
		refused string
	}{
		{"a good one", func([]byte) {}, ""},
		{"one that has no time", func(p []byte) { p[0] |= 3 << 6 }, "it has no time itself"},
		{"a kiss of death", func(p []byte) { p[1] = 0; copy(p[12:], "RATE") }, "it wants not to be asked (RATE)"},
		{"an uncertain one", func(p []byte) { binary.BigEndian.PutUint32(p[8:], 3<<16) }, "it may be wrong by 3"},
		{"one of another question", func(p []byte) { p[25]++ }, "server response didn't match request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			got := Ask(ctx, serve(t, c.change))
			if (got.Refused == nil) != (c.refused == "") || got.Refused != nil && !strings.Contains(got.Refused.Error(), c.refused) {
				t.Fatalf("got %v, want %q", got.Refused, c.refused)
			}
			if off := got.Offset - time.Hour; got.Refused == nil && (off.Abs() > 5*time.Second || got.Stratum != 2) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestSilentServerIsGivenUp(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("no answer in time"))
	defer cancel()
	if got := Ask(ctx, c.LocalAddr().String()); got.Refused == nil || !strings.Contains(got.Refused.Error(), "no answer") {
		t.Errorf("got %+v", got)
	}
}

func TestServersAreListedOnce(t *testing.T) {
	if got := Servers([]string{"a", "B"}, []string{"b", "c"}); !slices.Equal(got, []string{"a", "B", "c"}) {
		t.Errorf("got %q", got)
	}
}
