package rotate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"grove/firstboot/status"
	"grove/internal/host"
	"grove/internal/size"
	"grove/internal/spec"
)

func TestDue(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse("2006-01-02 15:04", s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	daily := spec.Logs{Rotate: "daily", Size: 100 * size.MiB}
	for _, c := range []struct {
		name       string
		now, began string
		length     size.Size
		logs       spec.Logs
		want       bool
	}{
		{"on the same day", "2026-12-01 23:59", "2026-12-01 00:01", size.MiB, daily, false},
		{"on the next day", "2026-12-02 00:00", "2026-12-01 23:59", size.MiB, daily, true},
		{"on the day before: the clock was set back", "2026-11-30 00:00", "2026-12-01 23:59", size.MiB, daily, true},
		{"an empty one", "2026-12-02 00:00", "2026-12-01 23:59", 0, daily, false},
		{"a long one", "2026-12-01 23:59", "2026-12-01 00:01", 100 * size.MiB, daily, true},
		{"in the next hour", "2026-12-01 13:00", "2026-12-01 12:59", size.MiB, spec.Logs{Rotate: "hourly"}, true},
		{"in the same hour", "2026-12-01 12:59", "2026-12-01 12:00", size.MiB, spec.Logs{Rotate: "hourly"}, false},
		{"by size only", "2026-12-02 12:59", "2026-12-01 12:00", size.MiB, spec.Logs{Rotate: "none", Size: 2 * size.MiB}, false},
	} {
		if got := Due(at(c.now), at(c.began), c.length, c.logs); got != c.want {
			t.Errorf("%s: got %v; want %v", c.name, got, c.want)
		}
	}
	if Due(at("2026-12-02 12:59"), time.Time{}, size.MiB, daily) {
		t.Error("a log whose first line has no time is due by day; want it left to its size")
	}
}

// server is a mongod as far as its log goes: it writes on into the file that it has open, until it is told.
type server struct {
	log   string
	file  *os.File
	lines int
	deaf  bool
}

func (s *server) open(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s.file = f
}

func (s *server) write(t *testing.T, n int) {
	t.Helper()
	for range n {
		s.lines++
		if _, err := fmt.Fprintf(s.file, "{\"t\":{\"$date\":\"2026-11-30T22:00:00.000+00:00\"},\"line\":%d}\n", s.lines); err != nil {
			t.Fatal(err)
		}
	}
}

// site is a log of two lines, of yesterday.
func site(t *testing.T) (*Site, *server) {
	dir := t.TempDir()
	v := &server{log: filepath.Join(dir, "mongod.log")}
	v.open(t)
	v.write(t, 2)
	m := &host.FakeMachine{RAM: size.GiB, Reopens: func(host.Running) error {
		if !v.deaf {
			v.file.Close()
			v.open(t)
		}
		return nil
	}}
	return &Site{Machine: m, Log: v.log, Output: filepath.Join(dir, "mongod.out"), Want: spec.Logs{Rotate: "daily", Keep: 4}, Node: quiet{},
		Mongod: func() (host.Running, bool) { return host.Running{PID: 100}, true }}, v
}

type quiet struct{}

func (quiet) Say(string, ...any)          {}
func (quiet) Page(func(*status.Status))   {}
func (quiet) Problem(string, string) bool { return true }

// lines are all that the folder holds, each file unpacked.
func lines(t *testing.T, dir string) (all []string, names string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name(), ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err == nil {
				data, err = io.ReadAll(z)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")...)
		list = append(list, e.Name())
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	slices.Sort(all)
	return all, strings.Join(list, " ")
}

func TestLogsArePutAsidePackedAndRemovedWithoutALineLost(t *testing.T) {
	s, v := site(t)
	for range 3 {
		if err := s.turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		v.write(t, 2)
	}
	got, names := lines(t, filepath.Dir(s.Log))
	if len(got) != v.lines || len(slices.Compact(got)) != v.lines {
		t.Errorf("%d lines of %d, in %s", len(got), v.lines, names)
	}
	if want := "mongod.log mongod.log.1.gz mongod.log.2.gz mongod.log.3"; names != want {
		t.Errorf("got  %s\nwant %s", names, want)
	}
	for range 3 {
		if err := s.turn(t.Context()); err != nil {
			t.Fatal(err)
		}
		v.write(t, 1)
	}
	if _, names := lines(t, filepath.Dir(s.Log)); names != "mongod.log mongod.log.3.gz mongod.log.4.gz mongod.log.5.gz mongod.log.6" {
		t.Errorf("got %s; want four old ones", names)
	}
}

// Each state is what a power cut, or the agent's death, leaves behind one step.
func TestATurnGoesOnFromWhereThePowerWent(t *testing.T) {
	pack := func(t *testing.T, from, to string, cut bool) {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write(data)
		z.Close()
		if packed := b.Bytes(); cut {
			b.Truncate(len(packed) / 2)
		}
		if err := os.WriteFile(to, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, log string, v *server)
	}{
		{"the log was renamed, mongod not told", func(t *testing.T, log string, v *server) {
			if err := os.Rename(log, log+".1"); err != nil {
				t.Fatal(err)
			}
			v.write(t, 1)
		}},
		{"a packing was begun", func(t *testing.T, log string, v *server) {
			_ = os.Rename(log, log+".1")
			v.open(t)
			v.write(t, 1)
			pack(t, log+".1", log+".1.packing", true)
		}},
		{"a packing was done, its log not removed", func(t *testing.T, log string, v *server) {
			_ = os.Rename(log, log+".1")
			v.open(t)
			v.write(t, 1)
			pack(t, log+".1", log+".1.gz", false)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, v := site(t)
			c.spoil(t, s.Log, v)
			for range 2 {
				if err := s.turn(t.Context()); err != nil {
					t.Fatal(err)
				}
				v.write(t, 1)
			}
			got, names := lines(t, filepath.Dir(s.Log))
			if len(got) != v.lines || len(slices.Compact(got)) != v.lines || strings.Contains(names, "packing") {
				t.Errorf("%d lines of %d, in %s", len(got), v.lines, names)
			}
		})
	}
}

func TestALogStaysWhenMongodDoesNotListen(t *testing.T) {
	s, v := site(t)
	v.deaf = true
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.turn(ctx); err == nil || !strings.Contains(err.Error(), "wait for mongod's new log") {
		t.Errorf("got %v; want that mongod does not listen", err)
	}
	v.write(t, 1)
	if got, names := lines(t, filepath.Dir(s.Log)); len(got) != v.lines || names != "mongod.log" {
		t.Errorf("%d lines of %d, in %s; want all in the log", len(got), v.lines, names)
	}
}

func TestWhatTheServerPrintsIsBounded(t *testing.T) {
	s, _ := site(t)
	if err := os.WriteFile(s.Output, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(s.Output); err != nil || info.Size() != 0 {
		t.Errorf("got %v, %v; want it empty", info.Size(), err)
	}
}
