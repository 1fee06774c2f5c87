package report

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"grove/internal/step"
)

// screen is where a report goes; the bars write to it from a goroutine of their own.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func play(r *Report) {
	for _, one := range []struct {
		id, name string
		out      step.Outcome
		err      error
	}{
		{"index", "read the package index", step.Outcome{Reused: true, Why: "less than an hour old"}, nil},
		{"system", "make squashfs of the system", step.Outcome{Why: "mongod config changed"}, nil},
		{"state", "make ext4 on state", step.Outcome{}, nil},
		{"write", "write demo.img", step.Outcome{}, errors.New("no space left on device")},
		{"agent", "build the agent", step.Outcome{}, fmt.Errorf("build: %w", context.Canceled)},
	} {
		s := step.Step{ID: one.id, Name: one.name}
		r.Started(s)
		r.Done(s, one.out, 1200*time.Millisecond, one.err)
	}
	r.Node("node1", 12100*time.Millisecond, "mongod", "6.0.5 answers\r")
}

func TestInAPipeEachFinishedStepIsALine(t *testing.T) {
	var s screen
	r := New(&s, false)
	play(r)
	r.Close()
	want := `kept   read the package index (less than an hour old)
done   make squashfs of the system (mongod config changed) 1.2 s
done   make ext4 on state 1.2 s
failed write demo.img, after 1.2 s
node1      12.1 s  mongod: 6.0.5 answers
`
	if diff := cmp.Diff(want, s.String()); diff != "" {
		t.Error(diff)
	}
}

func TestOnATerminalWhatStaysIsWhatWasDone(t *testing.T) {
	before := runtime.NumGoroutine()
	var s screen
	r := New(&s, true)
	count := r.Started(step.Step{ID: "mongod", Name: "fetch mongod"})
	count.Total(40 << 20)
	count.Add(10 << 20)
	play(r)
	for end := time.Now().Add(5 * time.Second); !strings.Contains(s.String(), "10 MiB of 40 MiB") && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	r.Close()
	if got := s.String(); !strings.Contains(got, "fetch mongod") || !strings.Contains(got, "10 MiB of 40 MiB") {
		t.Errorf("the bar of a running step was never shown: %q", got)
	}
	want := `done   make squashfs of the system (mongod config changed) 1.2 s
done   make ext4 on state 1.2 s
failed write demo.img, after 1.2 s
node1      12.1 s  mongod: 6.0.5 answers
kept   1 of 5 steps, with nothing new in them
`
	if diff := cmp.Diff(want, visible(s.String())); diff != "" {
		t.Error(diff)
	}
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}

// visible is what a terminal shows at the end: the report only goes up some lines and clears from there.
func visible(s string) string {
	up := regexp.MustCompile(`^\x1b\[(\d+)A\x1b\[J`)
	lines := []string{""}
	for s != "" {
		if m := up.FindStringSubmatch(s); m != nil {
			var n int
			fmt.Sscan(m[1], &n)
			lines = append(lines[:len(lines)-1-n], "")
			s = s[len(m[0]):]
			continue
		}
		if s[0] == '\n' {
			lines = append(lines, "")
		} else {
			lines[len(lines)-1] += s[:1]
		}
		s = s[1:]
	}
	return strings.Join(lines, "\n")
}

func TestAfterCloseNothingIsPrinted(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var s screen
		r := New(&s, terminal)
		running := step.Step{ID: "late", Name: "a step that ends late"}
		count := r.Started(running)
		r.Close()
		r.Close()
		before := s.String()
		count.Add(1)
		r.Done(running, step.Outcome{}, time.Second, nil)
		r.Started(step.Step{ID: "later", Name: "and one that starts"}).Total(1)
		r.Node("node1", 0, "init", "hello")
		if got := s.String(); got != before {
			t.Errorf("terminal %v: printed after Close: %q", terminal, got[len(before):])
		}
	}
}

func TestEntriesAreForAProgram(t *testing.T) {
	r := New(&screen{}, false)
	play(r)
	want := []Entry{
		{ID: "index", Name: "read the package index", Kept: true, Why: "less than an hour old", Seconds: 1.2},
		{ID: "system", Name: "make squashfs of the system", Why: "mongod config changed", Seconds: 1.2},
		{ID: "state", Name: "make ext4 on state", Seconds: 1.2},
		{ID: "write", Name: "write demo.img", Seconds: 1.2, Fault: "no space left on device"},
		{ID: "agent", Name: "build the agent", Seconds: 1.2, Fault: "build: context canceled"},
	}
	if diff := cmp.Diff(want, r.Entries()); diff != "" {
		t.Error(diff)
	}
}

func TestAmountSaysWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		want        string
	}{{0, 0, ""}, {3 << 20, 0, "3 MiB"}, {3 << 20, 40 << 20, "3 MiB of 40 MiB"}, {0, 10, "0 B of 10 B"}} {
		if got := amount(c.done, c.total); got != c.want {
			t.Errorf("%d of %d: got %q; want %q", c.done, c.total, got, c.want)
		}
	}
}
