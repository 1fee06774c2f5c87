package clock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"grove/firstboot/status"
	"grove/internal/host"
)

// site is a world with an agent around its clock.
type site struct {
	*world
	Site
	root     string
	mu       sync.Mutex
	page     status.Status
	problems map[string]string
	console  []string
}

func newSite(t *testing.T, late time.Duration, image time.Time) *site {
	s := &site{world: newWorld(late), root: t.TempDir(), problems: map[string]string{}}
	s.Site = Site{Machine: s.machine, Root: s.root, Image: image, Ask: s.ask, Node: s}
	s.Open()
	return s
}

func (s *site) Say(format string, values ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.console = append(s.console, fmt.Sprintf(format, values...))
}

func (s *site) Page(change func(*status.Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.page)
}

func (s *site) Status() status.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.page
}

func (s *site) Problem(about, sentence string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems[about] = sentence
	return true
}

// live lets the clock be kept for a while, as by an agent that leaves then.
func (s *site) live(t *testing.T, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	s.Run(ctx)
}

var mongod = host.Daemon{Path: "/usr/bin/mongod"}

func TestBoardWithoutABatteryGetsTheTimeBeforeMongod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 20*365*24*time.Hour, time.Now().AddDate(-1, 0, 0)) // 1980, the image is of 1999
		s.Begin(true)
		begin := time.Now()
		time.AfterFunc(4*time.Second, func() { s.Offer([]string{"a"}) })
		go s.live(t, time.Minute)
		s.Await(t.Context(), mongod)
		if took := time.Since(begin); took != 4*time.Second || s.machine.Now().Sub(time.Now()).Abs() > time.Second {
			t.Errorf("mongod waited %s; the clock is off by %s", took, s.machine.Now().Sub(time.Now()))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if c := s.page.Clock; !c.Synced || c.Guessed || c.Server != "a" || c.Last != 4 {
			t.Errorf("got %+v", c)
		}
		if kept := Kept(s.root + file); time.Since(kept).Abs() > time.Minute {
			t.Errorf("kept %s", kept)
		}
		if got := strings.Join(s.console, "\n"); !strings.Contains(got, "is set to 1999-01-01 00:00:00, the image's time\nthe date is not known, at the least it is 1999-01-01 00:00:00") {
			t.Errorf("said %s", got)
		}
	})
}

func TestTimeOfTheLastBootIsTheFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 20*365*24*time.Hour, time.Now().AddDate(-1, 0, 0))
		if err := Keep(s.root+file, time.Now().AddDate(0, 0, -1)); err != nil {
			t.Fatal(err)
		}
		s.Begin(true)
		if now := s.machine.Now().UTC(); now.Format(time.DateOnly) != "1999-12-31" || !s.page.Clock.Guessed {
			t.Errorf("it is %s, %+v", now, s.page.Clock)
		}
	})
}

func TestMongodDoesNotWait(t *testing.T) {
	for _, c := range []struct {
		name  string
		late  time.Duration
		set   func(*site)
		waits time.Duration
	}{
		{"for a clock that has run on", 0, func(*site) {}, 0},
		{"for long when the servers are silent", 20 * 365 * 24 * time.Hour, func(s *site) { s.silent = true; s.Offer([]string{"a"}) }, mongodMay},
		{"when there is no server", 20 * 365 * 24 * time.Hour, func(s *site) { s.Offer(nil) }, 0},
		{"when it runs already", 20 * 365 * 24 * time.Hour, func(s *site) { _, _ = s.machine.Spawn(mongod) }, 0},
		{"after the agent has started anew", 20 * 365 * 24 * time.Hour, func(s *site) { s.page.Agent.Restarts = 1 }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, c.late, time.Now().AddDate(-1, 0, 0))
				c.set(s)
				s.Begin(false)
				go s.live(t, time.Hour)
				begin := time.Now()
				s.Await(t.Context(), mongod)
				if took := time.Since(begin); took != c.waits {
					t.Errorf("it waited %s, want %s", took, c.waits)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

func TestNoServerIsSaidPlainly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, guessed := range []bool{false, true} {
			s := newSite(t, 0, time.Time{})
			s.page.Clock.Guessed = guessed
			s.Offer(nil)
			s.live(t, time.Minute)
			if len(s.console) != 1 || !strings.HasPrefix(s.console[0], "no time server: ") || (s.problems["clock"] != "") != guessed {
				t.Errorf("guessed %v: said %q, problem %q", guessed, s.console, s.problems["clock"])
			}
		}
	})
}

func TestSilenceIsSaidOnceAndStandsOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 0, time.Time{})
		s.silent = true
		s.Offer([]string{"a"})
		s.live(t, 10*time.Minute)
		const said = "no time from any server for 30s: a: no answer; the clock runs on by itself"
		if len(s.console) != 1 || s.console[0] != said || !strings.HasPrefix(s.problems["clock"], "no time from any server for 9m") || s.page.Clock.Synced {
			t.Errorf("said %q, problem %q", s.console, s.problems["clock"])
		}
	})
}

func TestTimeThatCantBeKeptIsAProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 0, time.Time{})
		if err := os.MkdirAll(filepath.Join(s.root, file, "in the way"), 0o755); err != nil {
			t.Fatal(err)
		}
		s.Begin(true)
		s.Offer([]string{"a"})
		go s.live(t, 3*time.Minute)
		time.Sleep(50 * time.Second)
		synctest.Wait()
		if !strings.HasPrefix(s.problems["clock kept"], "keep the time: ") {
			t.Errorf("got %q", s.problems)
		}
		if err := os.RemoveAll(filepath.Join(s.root, file)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.problems["clock kept"] != "" || Kept(s.root+file).IsZero() {
			t.Errorf("a minute after it could be: got %q, kept %s", s.problems, Kept(s.root+file))
		}
		time.Sleep(2 * time.Minute)
	})
}
