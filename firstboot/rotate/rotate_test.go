package rotate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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
	told  int

	passes int // over so many signals

	runs, answers bool
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
		if _, err := fmt.Fprintln(s.file, text(s.lines)); err != nil {
			t.Fatal(err)
		}
	}
}

func text(line int) string {
	return fmt.Sprintf(`{"t":{"$date":"2026-11-30T22:00:00.000+00:00"},"line":%d}`, line)
}

// site is a log of two lines, of yesterday.
func site(t *testing.T) (*Site, *server) {
	dir := t.TempDir()
	v := &server{log: filepath.Join(dir, "mongod.log"), runs: true, answers: true}
	v.open(t)
	v.write(t, 2)
	m := &host.FakeMachine{RAM: size.GiB, Reopens: func(host.Running) error {
		v.told++
		if !v.deaf && v.told > v.passes {
			v.file.Close()
			v.open(t)
		}
		return nil
	}}
	return &Site{Machine: m, Log: v.log, Output: filepath.Join(dir, "mongod.out"), Want: spec.Logs{Rotate: "daily", Keep: 4}, Node: quiet{},
		Mongod: func() (host.Running, bool, bool) { return host.Running{PID: 100}, v.runs, v.answers }}, v
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

func TestALogStaysWhenMongodDoesNotListen(t *testing.T) {
	s, v := site(t)
	v.deaf = true
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.turn(ctx); err == nil || !strings.Contains(err.Error(), "wait for mongod's new log") {
		t.Errorf("got %v; want that mongod does not listen", err)
	}
	v.write(t, 1)
	if got, names := lines(t, filepath.Dir(s.Log)); len(got) != v.lines || names != "mongod.log.1" {
		t.Errorf("%d lines of %d, in %s; want all in the old one", len(got), v.lines, names)
	}
	v.deaf = false
	if err := s.turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.write(t, 1)
	if got, names := lines(t, filepath.Dir(s.Log)); len(got) != v.lines || names != "mongod.log mongod.log.1" {
		t.Errorf("%d lines of %d, in %s; want a new log once it listens", len(got), v.lines, names)
	}
}

// mongod passes over a signal that comes too soon after another.
func TestMongodIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := site(t)
		v.passes = 1
		if err := s.turn(t.Context()); err != nil || v.told != 2 {
			t.Errorf("got %v, told %d times", err, v.told)
		}
	})
}

func TestAMongodThatStartsIsLeftAlone(t *testing.T) {
	s, v := site(t)
	v.answers = false
	if err := s.turn(t.Context()); err != nil || v.told > 0 {
		t.Errorf("one that starts: got %v, told %d times", err, v.told)
	}
	if _, names := lines(t, filepath.Dir(s.Log)); names != "mongod.log" {
		t.Errorf("one that starts: got %s", names)
	}
	v.runs = false
	if err := s.turn(t.Context()); err != nil || v.told > 0 {
		t.Errorf("none that runs: got %v, told %d times", err, v.told)
	}
	if _, names := lines(t, filepath.Dir(s.Log)); names != "mongod.log.1" {
		t.Errorf("none that runs: got %s", names)
	}
}

// roomy has a file system of 100 MiB.
type roomy struct {
	*host.FakeMachine
	free size.Size
}

func (r roomy) Space(string) (total, free size.Size, err error) { return 100 * size.MiB, r.free, nil }

func TestALittleRoomIsForMongod(t *testing.T) {
	for _, c := range []struct {
		name string
		free size.Size
		old  int
		want string // the files
		says string
	}{
		{"enough: all are kept", 11 * size.MiB, 3, "mongod.log mongod.log.1.gz mongod.log.2.gz mongod.log.3.gz mongod.log.4", ""},
		{"little: the newest is kept", 9 * size.MiB, 3, "mongod.log mongod.log.4", ""},
		{"none: mongod is not told", 100 * size.KiB, 3, "mongod.log mongod.log.3", "has less than 1 MiB free, and mongod ends when it can't write its log"},
		{"none, and nothing to remove", 0, 0, "mongod.log", "has less than 1 MiB free"},
	} {
		s, v := site(t)
		s.Machine = roomy{s.Machine.(*host.FakeMachine), c.free}
		for n := range c.old {
			if err := os.WriteFile(fmt.Sprintf("%s.%d", s.Log, n+1), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		said := ""
		if err := s.turn(t.Context()); err != nil {
			said = err.Error()
		}
		v.write(t, 1)
		got, names := lines(t, filepath.Dir(s.Log))
		if len(got) != v.lines || names != c.want || !strings.Contains(said, c.says) || (said == "") != (c.says == "") {
			t.Errorf("%s: %d lines of %d, in %s, and %q; want %s, and %q", c.name, len(got), v.lines, names, said, c.want, c.says)
		}
	}
}

// full is a disk on which nothing can be written.
type full struct{ real }

func (full) Create(path string) (packing, error) {
	f, err := real{}.Create(path)
	return fullFile{f}, err
}

type fullFile struct{ packing }

func (fullFile) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestALogThatCannotBePackedStays(t *testing.T) {
	s, v := site(t)
	s.disk = full{}
	if err := s.turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.write(t, 1)
	err := s.turn(t.Context())
	if want := "pack " + s.Log + ".1, which stays as it is: no space left on device"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	v.write(t, 1)
	if got, names := lines(t, filepath.Dir(s.Log)); len(got) != v.lines || names != "mongod.log mongod.log.1 mongod.log.2" {
		t.Errorf("%d lines of %d, in %s", len(got), v.lines, names)
	}
}

func TestTextLogsTellWhenTheyBegan(t *testing.T) {
	want := time.Date(2026, 11, 30, 22, 0, 0, 0, time.UTC)
	for _, line := range []string{
		`{"t":{"$date":"2026-11-30T22:00:00.000+00:00"},"s":"I",  "c":"CONTROL"`, `{"t":{"$date":"2026-11-30T22:00:00.000Z"},"s":"I"}`,
		"2026-11-30T22:00:00.000+0000 I CONTROL  ***** SERVER RESTARTED *****", "2026-11-30T23:00:00.000+0100 I CONTROL  [main] x",
	} {
		s, _ := site(t)
		if err := os.WriteFile(s.Log, []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if f, err := s.survey(); err != nil || !f.began.Equal(want) {
			t.Errorf("%s: began %s, %v", line, f.began, err)
		}
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
