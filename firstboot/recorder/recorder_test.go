package recorder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shelf is a node's files, with a clock and an uptime of the test's own.
type shelf struct {
	t      *testing.T
	root   string
	now    time.Time
	uptime float64
	node   *listener
}

type listener struct{ said, problem string }

func (l *listener) Say(format string, values ...any) { l.said += fmt.Sprintf(format, values...) + "\n" }
func (l *listener) Problem(_, sentence string) bool {
	news := l.problem != sentence
	l.problem = sentence
	return news
}

func newShelf(t *testing.T) *shelf {
	s := &shelf{t: t, root: t.TempDir(), now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), uptime: 100, node: &listener{}}
	s.boot("aaaaaaaa-1111")
	return s
}

func (s *shelf) file(path, text string) {
	s.t.Helper()
	path = filepath.Join(s.root, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shelf) boot(id string) { s.file("proc/sys/kernel/random/boot_id", id+"\n") }

func (s *shelf) open(state bool) *Recorder {
	r := New(Config{Root: s.root, State: state, Now: func() time.Time { return s.now }, Uptime: func() float64 { return s.uptime }, Node: s.node})
	r.look.first(r.kernel, s.uptime)
	return r
}

// pass takes samples, one a minute.
func (s *shelf) pass(r *Recorder, minutes int) {
	for range minutes {
		s.now, s.uptime = s.now.Add(time.Minute), s.uptime+60
		r.take()
	}
}

func (s *shelf) all(r *Recorder) (all []Sample) {
	s.t.Helper()
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &all); err != nil {
		s.t.Fatalf("%v in\n%s", err, b.String())
	}
	return all
}

func TestSampleIsRatesOfAMinute(t *testing.T) {
	s := newShelf(t)
	kernel := func(cpu, read, written, busy, in, out, mongod int) {
		s.file("proc/loadavg", "1.50 0.7 0.2 1/100 200\n")
		s.file("proc/stat", fmt.Sprintf("cpu  0 0 0 0\ncpu0 %d 0 0 %d 0 0 0 0\n", cpu, 10000-cpu))
		s.file("proc/diskstats", fmt.Sprintf("254 0 vda 10 0 %d 0 9 0 %d 0 0 %d 0\n254 16 vdb 0 0 0 0 0 0 0 0 0 0 0\n", read, written, busy))
		s.file("proc/net/dev", fmt.Sprintf("lo: 99 9 0 0 0 0 0 0 99 9 0 0 0 0 0 0\neth0: %d 1 0 0 0 0 0 0 %d 1 0 0 0 0 0 0\n", in, out))
		s.file("proc/812/stat", fmt.Sprintf("812 (mongod) S 1 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0 9 0 700 0 0", mongod))
		s.file("proc/meminfo", "MemTotal: 2097152 kB\nMemAvailable: 1048576 kB\nDirty: 3072 kB\nSwapTotal: 1048576 kB\nSwapFree: 524288 kB\n")
	}
	kernel(1000, 0, 0, 0, 0, 0, 0)
	r := s.open(true)
	s.file("proc/stat", "cpu0 1000 0 0 9000 0 0 0 0\n")
	kernel(0, 120<<10, 60<<10, 15000, 6000, 120000, 3000)
	s.file("proc/stat", "cpu0 2500 0 0 13500 0 0 0 0\n")
	s.pass(r, 1)
	want := Sample{Time: s.now.Unix(), Uptime: 160, Boot: "aaaaaaaa", Load: 1.5, CPU: 25, Memory: Memory{Used: 1024, Total: 2048, Dirty: 3, Swap: 512},
		Disks: map[string]Disk{"vda": {Read: 1 << 20, Written: 512 << 10, Busy: 25}}, Net: map[string][2]int64{"eth0": {100, 2000}}, Top: []Top{{"mongod", 812, 50, 0}}}
	if diff := cmp.Diff([]Sample{want}, s.all(r)); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestCountersThatBeginAnewAreNoRate(t *testing.T) {
	s := newShelf(t)
	s.file("proc/net/dev", "eth0: 9000 1 0 0 0 0 0 0 9000 1 0 0 0 0 0 0\n")
	r := s.open(false)
	s.file("proc/net/dev", "eth0: 60 1 0 0 0 0 0 0 60 1 0 0 0 0 0 0\n")
	s.pass(r, 1)
	if got := s.all(r)[0].Net["eth0"]; got != [2]int64{} {
		t.Errorf("got %v", got)
	}
}

// The medium is written to once in five minutes, and a new agent has what lay in RAM.
func TestSamplesSurviveTheAgent(t *testing.T) {
	s := newShelf(t)
	r := s.open(true)
	s.pass(r, 4)
	if files := r.store.files(); len(files) != 0 {
		t.Errorf("after 4 minutes there is %v", files)
	}
	r = s.open(true) // the first was killed
	if got := len(s.all(r)); got != 4 {
		t.Errorf("a new agent has %d samples; want 4", got)
	}
	s.pass(r, 8)
	if got := len(s.all(r)); got != 12 || len(r.store.waiting) != 2 || len(r.Points()) != 12 {
		t.Errorf("got %d samples, %d of them in RAM, %d points; want 12, 2, 12", got, len(r.store.waiting), len(r.Points()))
	}
	left, err := os.ReadFile(r.store.ram)
	if err != nil {
		t.Fatal(err)
	}
	s.pass(r, 3)
	s.file("run/grove/samples", string(left)) // killed between the medium and the RAM
	if got := len(s.all(s.open(true))); got != 15 {
		t.Errorf("got %d samples; want 15, none twice", got)
	}
}

// At a loss of power the end of the file is torn, or zeros.
func TestTornLinesArePassedOver(t *testing.T) {
	for _, torn := range []string{`{"t":1,"up":2,"boo`, strings.Repeat("\x00", 5000), strings.Repeat("x", 3*longest) + "\n", "{}\n"} {
		s := newShelf(t)
		r := s.open(true)
		s.pass(r, 5)
		data, err := os.ReadFile(r.store.newest)
		if err != nil {
			t.Fatal(err)
		}
		s.file("state/grove/samples/00000001.json", string(data)+torn)
		if err := os.Remove(r.store.ram); err != nil {
			t.Fatal(err)
		}
		s.boot("bbbbbbbb-2222")
		s.uptime = 30
		r = s.open(true)
		s.pass(r, 5)
		if got := len(s.all(s.open(true))); got != 10 {
			t.Errorf("after %.20q: got %d samples; want 10", torn, got)
		}
	}
}

func TestFilesAreBounded(t *testing.T) {
	s := newShelf(t)
	r := s.open(true)
	top := []Top{{"mongod", 812, 100.1, 1000}, {"firstboot", 201, 0.2, 17}, {"kworker/0:1-eve", 20100, 0.1, 0}} // an idle node has no more
	const week = 7 * 24 * 60
	for n := range week * 3 / 2 {
		s.uptime += 60
		line, err := json.Marshal(Sample{Time: 1764570000, Uptime: s.uptime, Boot: "aaaaaaaa", Load: 10.11, CPU: 99.9, Memory: Memory{1000, 2000, 10, 10},
			Disks: map[string]Disk{"vda": {1000000, 1000000, 99}}, Net: map[string][2]int64{"eth0": {100000, 1000000}}, Sockets: map[string]int{"established": 100, "listen": 3, "time_wait": 10}, Top: top})
		if r.store.waiting = append(r.store.waiting, line); n%60 == 59 && err == nil { // more at once than it does, so that the test is quick
			err = r.store.flush()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	total := int64(0)
	for _, f := range r.store.files() {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 4<<20 || len(r.store.files()) != mostFiles {
		t.Errorf("%d bytes in %d files; want at most 4 MiB in %d", total, len(r.store.files()), mostFiles)
	}
	all := s.all(r)
	if days := float64(len(all)) / (24 * 60); days < 6 || all[len(all)-1].Uptime != s.uptime {
		t.Errorf("%.1f days are kept, the last at %v; want about a week up to %v", days, all[len(all)-1].Uptime, s.uptime)
	}
	if reopened := s.open(true); len(reopened.ring) < day {
		t.Errorf("after a restart there are %d points; want a day's", len(reopened.ring))
	}
}

func TestWithoutAStateSomeHoursAreKeptInRAM(t *testing.T) {
	s := newShelf(t)
	r := s.open(false)
	s.pass(r, mostInRAM+10)
	if got := len(s.all(s.open(false))); got != mostInRAM {
		t.Errorf("got %d; want %d", got, mostInRAM)
	}
	if _, err := os.Stat(s.root + "/state"); !os.IsNotExist(err) {
		t.Errorf("it is written to where the state is not: %v", err)
	}
}

// A node without a clock's battery begins in 1970, and later knows when that was.
func TestTimesAreSetRight(t *testing.T) {
	s := newShelf(t)
	right := s.now
	s.now = time.Unix(0, 0)
	r := s.open(true)
	s.pass(r, 3)
	if got := len(r.Points()); got != 3 {
		t.Errorf("while the date is not known there are %d points; want 3", got)
	}
	s.now = right.Add(3 * time.Minute)
	s.pass(r, 2)
	s.boot("bbbbbbbb-2222")
	s.now, s.uptime = s.now.Add(10*time.Minute), 20
	r = s.open(true)
	s.pass(r, 1)
	want := []int{1, 2, 3, 4, 5, 16}
	for n, one := range s.all(r) {
		if at := right.Add(time.Duration(want[n]) * time.Minute).Unix(); one.Time != at {
			t.Errorf("sample %d: got %s; want minute %d", n, time.Unix(one.Time, 0).UTC(), want[n])
		}
	}
	points := r.Points()
	if len(points) != 6 || !points[0].Time.Equal(right.Add(time.Minute)) {
		t.Errorf("got %+v", points)
	}
	s.now = s.now.Add(24 * time.Hour) // what is older than a day is not plotted
	s.uptime += 24 * 3600
	if got := len(r.Points()); got != 1 {
		t.Errorf("a day later there are %d points; want the last", got)
	}
}

func TestMediumThatCannotBeWrittenTo(t *testing.T) {
	s := newShelf(t)
	s.file("state/grove/samples", "a file where the folder should be")
	r := s.open(true)
	s.pass(r, 5)
	if !strings.Contains(s.node.problem, "make the samples' folder") || strings.Count(s.node.said, "\n") != 1 {
		t.Errorf("got the problem %q, said %q", s.node.problem, s.node.said)
	}
	s.pass(r, 2*mostWaiting)
	if got := len(s.all(r)); got != mostWaiting || strings.Count(s.node.said, "\n") != 1 {
		t.Errorf("got %d samples; want %d; said %q", got, mostWaiting, s.node.said)
	}
	if err := os.Remove(s.root + "/state/grove/samples"); err != nil {
		t.Fatal(err)
	}
	s.pass(r, 1)
	if s.node.problem != "" || len(r.store.waiting) != 0 || len(s.all(r)) != mostWaiting {
		t.Errorf("when it can be written to: problem %q, %d wait, %d in all", s.node.problem, len(r.store.waiting), len(s.all(r)))
	}
}

func TestKeepTakesOneAMinuteAndWritesTheRestAtItsEnd(t *testing.T) {
	s := newShelf(t)
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := New(Config{Root: s.root, State: true, Now: time.Now, Uptime: func() float64 { return time.Since(begin).Seconds() }, Node: s.node})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { r.Keep(ctx); close(ended) }()
		time.Sleep(3*time.Minute + time.Second)
		stop()
		<-ended
		if lines := 0; true {
			readLines(r.store.newest, func([]byte, Sample) { lines++ })
			if lines != 3 {
				t.Errorf("%d lines on the medium; want 3", lines)
			}
		}
	})
}

func TestNobodyHasToRecordNothing(t *testing.T) {
	s := newShelf(t)
	var b bytes.Buffer
	if err := s.open(true).WriteJSON(&b); err != nil || b.String() != "[]\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

// What a reader of the JSON, and who hangs up, meets.
func TestReaderThatGoesEndsTheWriting(t *testing.T) {
	s := newShelf(t)
	r := s.open(true)
	s.pass(r, 7)
	if err := r.WriteJSON(broken{}); err == nil {
		t.Error("no error")
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
