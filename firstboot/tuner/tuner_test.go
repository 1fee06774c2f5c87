package tuner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"grove/firstboot/status"
	"grove/internal/host"
	"grove/internal/mongoconf"
	"grove/internal/spec"
)

// stand is a node that only listens.
type stand struct {
	t        *testing.T
	root     string
	page     status.Status
	lines    []string
	problems map[string]string
}

func (s *stand) Say(format string, values ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, values...))
}
func (s *stand) Page(change func(*status.Status)) { change(&s.page) }
func (s *stand) Status() status.Status            { return s.page }
func (s *stand) Problem(about, sentence string) bool {
	news := s.problems[about] != sentence
	if s.problems[about] = sentence; sentence == "" {
		delete(s.problems, about)
	}
	return news
}

func (s *stand) file(name, text string) {
	s.t.Helper()
	name = filepath.Join(s.root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stand) said(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.lines); diff != "" {
		s.t.Errorf("want - got +\n%s", diff)
	}
	s.lines = nil
}

func newStand(t *testing.T) *stand {
	s := &stand{t: t, root: t.TempDir(), problems: map[string]string{}}
	s.file("proc/sys/kernel/osrelease", "6.12.48-cloud-amd64\n")
	s.file("proc/sys/vm/swappiness", "60\n")
	s.file("proc/sys/vm/zone_reclaim_mode", "0\n")
	s.file("proc/self/mountinfo", "31 1 254:16 / /data rw - ext4 /dev/vdb rw\n")
	s.disk("vdb", "254:16")
	return s
}

func (s *stand) disk(name, number string) {
	for _, folder := range []string{"sys/class/block/", "sys/block/"} {
		s.file(folder+name+"/dev", number)
		s.file(folder+name+"/queue/read_ahead_kb", "128\n")
		s.file(folder+name+"/queue/scheduler", "none [mq-deadline]\n")
	}
}

func (s *stand) site(warnings ...string) *Site {
	site := &Site{Root: s.root, Image: spec.Node{Mongod: spec.NodeMongod{Version: "6.0.5", Config: map[string]any{}}}, Arch: spec.AMD64, Node: s,
		Warnings: func(context.Context, int, string) ([]string, error) { return warnings, nil }}
	site.Open()
	return site
}

func (s *stand) read(file string) string {
	data, _ := os.ReadFile(filepath.Join(s.root, file))
	return strings.TrimSpace(string(data))
}

var places = mongoconf.Places{Data: "/data", Log: "/data/mongod.log", Mounted: []string{"/data"}}

func TestANodeIsTunedStepByStep(t *testing.T) {
	s := newStand(t)
	site := s.site()
	site.System(spec.Tuning{Profile: "mongodb"})
	s.said("mongodb: 1 set, 1 so before, 9 that this kernel lacks, 3 wait for mongod")
	site.Data(places)
	s.said("read-ahead and scheduler of vdb: mongodb: 3 set, 1 so before, 9 that this kernel lacks, 3 wait for mongod")
	if a, b, c := s.read("proc/sys/vm/swappiness"), s.read("sys/block/vdb/queue/read_ahead_kb"), s.read("sys/block/vdb/queue/scheduler"); a != "1" || b != "16" || c != "none" {
		t.Errorf("got %s, %s, %s", a, b, c)
	}
	d := site.Daemon(host.Daemon{Path: "/usr/bin/mongod", Env: []string{"LANG=C"}})
	if len(d.Limits) != 3 || len(d.Env) != 1 {
		t.Errorf("got %+v", d)
	}
	s.file("proc/100/limits", "Max open files 64000 64000 files\nMax processes 64000 64000 processes\nMax locked memory 8388608 8388608 bytes\n")
	site.Runs(100)
	s.said(`limit memlock: want unlimited, have "8388608": mongod runs without it`)
	if len(s.problems) != 1 || s.problems["tuning"] == "" {
		t.Errorf("got %q", s.problems)
	}
	s.file("proc/101/limits", "Max open files 64000 64000 files\nMax processes 64000 64000 processes\nMax locked memory unlimited unlimited bytes\n")
	site.Runs(101)
	if len(s.problems) > 0 {
		t.Errorf("got %q", s.problems)
	}
	s.said()

	// A new agent finds all as it should be, and still knows how it was.
	site = s.site()
	site.System(spec.Tuning{Profile: "mongodb"})
	site.Data(places)
	site.Runs(101)
	s.said("mongodb: 1 set, 1 so before, 9 that this kernel lacks, 3 wait for mongod", "read-ahead and scheduler of vdb: mongodb: 3 set, 1 so before, 9 that this kernel lacks, 3 wait for mongod")
	for _, v := range s.page.Tuning.Values {
		if v.Name == "vm.swappiness" && (v.Before != "60" || v.After != "1" || v.State != "set") || v.Name == "vdb/scheduler" && v.Before != "mq-deadline" {
			t.Errorf("got %+v", v)
		}
	}
}

func TestDisksThatComeLaterAreTuned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t)
		site := s.site()
		site.System(spec.Tuning{Profile: "mongodb"})
		site.Data(places)
		s.disk("vdb", "254:16") // a kernel still offers what was not chosen
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { site.Keep(ctx); close(done) }()
		s.lines = nil
		time.Sleep(time.Minute)
		synctest.Wait()
		s.said()
		s.disk("vdc", "254:32")
		s.file("sys/class/block/vdb/slaves/vdc/x", "")
		time.Sleep(looksAgain)
		synctest.Wait()
		s.said("read-ahead and scheduler of vdb, vdc: mongodb: 5 set, 1 so before, 9 that this kernel lacks, 3 wait for mongod")
		cancel()
		<-done
	})
}

func TestWarningsAreToldWithTheirReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(t)
		s.page.Storage.Mounts = []status.Mount{{Target: "/data", Type: "ext4"}}
		const xfs, swap, set = "Using the XFS filesystem is strongly recommended with the WiredTiger storage engine.", "We suggest setting swappiness to 0 or 1", "mongod started without --replSet"
		site := s.site(xfs, swap, set)
		site.System(spec.Tuning{Profile: "mongodb"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { site.Keep(ctx); close(done) }()
		s.lines = nil
		site.Serves(27017)
		synctest.Wait()
		s.said("mongod warns: "+xfs+": the data is on ext4, as the recipe has it; storage.filesystem: xfs is MongoDB's advice", "mongod warns: "+swap+": Grove should have set vm.swappiness", "mongod warns: "+set)
		if want := "mongod warns: " + swap + ": Grove should have set vm.swappiness; mongod warns: " + set; s.problems["warnings"] != want {
			t.Errorf("got %q", s.problems)
		}
		var kinds []string
		for _, w := range s.page.Tuning.Warnings {
			kinds = append(kinds, w.Kind)
		}
		if got := strings.Join(kinds, " "); got != "explained fault other" {
			t.Errorf("got %s", got)
		}
		site.Warnings = func(context.Context, int, string) ([]string, error) {
			return nil, errors.New("read mongod's start-up warnings: gone")
		}
		site.Serves(27017)
		synctest.Wait()
		s.said("read mongod's start-up warnings: gone")
		if len(s.page.Tuning.Warnings) != 3 {
			t.Errorf("what was known before is lost: %+v", s.page.Tuning.Warnings)
		}
		cancel()
		<-done
	})
}

func TestOtherProfilesAndOnesOwnValues(t *testing.T) {
	s := newStand(t)
	site := s.site()
	site.System(spec.Tuning{Sysctl: map[string]string{"vm.swappiness": "10", "vm.nosuch": "1"}})
	s.said("vm.nosuch: want 1, but this kernel has no such setting", "none: 1 set, 0 so before, 1 that this kernel lacks; 14 values are not those of MongoDB's advice")
	if got := s.read("proc/sys/vm/swappiness"); got != "10" || s.problems["tuning"] == "" || s.page.Tuning.Profile != "none" {
		t.Errorf("got %s, %q", got, s.problems)
	}
	if kind := site.why(); len(kind.Own) != 2 || kind.Filesystem != "ext4" {
		t.Errorf("got %+v", kind)
	}
}
