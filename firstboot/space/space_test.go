package space

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"grove/firstboot/status"
	"grove/internal/host"
	"grove/internal/mongoconf"
	"grove/internal/size"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name        string
		was         State
		total, free size.Size
		want        State
	}{
		{"half full", Roomy, size.TiB, size.TiB / 2, Roomy},
		{"just a twentieth", Roomy, 20 * size.GiB, size.GiB, Roomy},
		{"less than a twentieth", Roomy, 20 * size.GiB, size.GiB - 1, Low},
		{"a small one, 64 MiB free", Roomy, size.GiB, 64 * size.MiB, Roomy},
		{"a small one, less", Roomy, size.GiB, 64*size.MiB - 1, Low},
		{"a very small one, an eighth", Roomy, 80 * size.MiB, 10 * size.MiB, Roomy},
		{"a very small one, less", Roomy, 80 * size.MiB, 10*size.MiB - 1, Low},
		{"a new one of 16 MiB is not full from the start", Roomy, 16 * size.MiB, 12 * size.MiB, Roomy},
		{"a little more than was too little", Low, 20 * size.GiB, size.GiB + size.MiB, Low},
		{"a quarter more than was too little", Low, 20 * size.GiB, size.GiB + size.GiB/4, Roomy},
		{"less than a MiB", Low, 20 * size.GiB, size.MiB - 1, Full},
		{"nothing", Roomy, 20 * size.GiB, 0, Full},
		{"just a MiB again", Full, 20 * size.GiB, size.MiB, Full},
		{"more", Full, 20 * size.GiB, 2 * size.MiB, Low},
	} {
		if got := Judge(c.was, c.total, c.free); got != c.want {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
		}
	}
}

func TestMounts(t *testing.T) {
	for _, c := range []struct {
		name  string
		at    mongoconf.Places
		state bool
		want  []Mount
	}{
		{"all on the medium", mongoconf.Places{Data: "/state/mongod/db", Log: "/state/mongod/log/mongod.log"}, true,
			[]Mount{{"/state", "what the agent keeps and mongod's data and mongod's log", true}}},
		{"data on a disk", mongoconf.Places{Data: "/data", Log: "/state/mongod/log/mongod.log", Mounted: []string{"/data"}}, true,
			[]Mount{{"/state", "what the agent keeps and mongod's log", true}, {"/data", "mongod's data", true}}},
		{"three volumes", mongoconf.Places{Data: "/data", Log: "/log/mongod.log", Mounted: []string{"/data", "/log", "/journal"}}, true,
			[]Mount{{"/state", "what the agent keeps", false}, {"/data", "mongod's data", true}, {"/log", "mongod's log", true}, {"/journal", "mongod's journal", true}}},
		{"a lost medium", mongoconf.Places{Data: "/data", Log: "/data/mongod.log", Mounted: []string{"/data"}}, false, []Mount{{"/data", "mongod's data", true}}},
	} {
		if diff := cmp.Diff(c.want, Mounts(c.at, c.state)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
}

// filling is a machine whose file systems fill.
type filling struct {
	*host.FakeMachine
	free map[string]size.Size
}

func (f filling) Space(path string) (total, free size.Size, err error) {
	free, there := f.free[path]
	if !there {
		return 0, 0, errors.New("room of " + path + ": no such file or directory")
	}
	return size.GiB, free, nil
}

// heard writes down what the node says.
type heard struct {
	said     []string
	page     status.Status
	problems map[string]string
}

func (h *heard) Say(format string, values ...any) {
	h.said = append(h.said, fmt.Sprintf(format, values...))
}
func (h *heard) Page(change func(*status.Status)) { change(&h.page) }
func (h *heard) Problem(about, sentence string) bool {
	h.problems[about] = sentence
	return true
}

func TestEachChangeIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, node := filling{&host.FakeMachine{}, map[string]size.Size{"/state": size.GiB / 2, "/log": size.GiB / 2}}, &heard{problems: map[string]string{}}
		s := Site{Machine: machine, Node: node, Mounts: Mounts(mongoconf.Places{Data: "/data", Log: "/log/mongod.log", Mounted: []string{"/log"}}, true)}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Keep(ctx)
		synctest.Wait()
		for _, c := range []struct {
			free    size.Size
			problem string
			says    string
		}{
			{size.GiB / 2, "", ""},
			{50 * size.MiB, "is nearly full, 50 MiB of 1 GiB free; it holds mongod's log, and mongod ends when it can't write there", "/log is nearly full, 50 MiB of 1 GiB free; it holds mongod's log, and mongod ends when it can't write there"},
			{40 * size.MiB, "is nearly full, 40 MiB of 1 GiB free; it holds mongod's log, and mongod ends when it can't write there", ""},
			{0, "is full, 0 B of 1 GiB free; it holds mongod's log, and mongod ends when it can't write there", "/log is full, 0 B of 1 GiB free; it holds mongod's log, and mongod ends when it can't write there"},
			{size.GiB / 2, "", "/log has room again: 512 MiB of 1 GiB free"},
		} {
			node.said, machine.free["/log"] = nil, c.free
			time.Sleep(3 * look) // in the bubble's time
			synctest.Wait()
			if got := node.problems["space /log"]; got != c.problem {
				t.Errorf("got  %q\nwant %q", got, c.problem)
			}
			if got := strings.Join(node.said, "\n"); got != c.says {
				t.Errorf("said %q\nwant %q", got, c.says)
			}
			if at := slices.IndexFunc(node.page.Space, func(r status.Room) bool { return r.Mount == "/log" }); at < 0 || node.page.Space[at].Free != int64(c.free) {
				t.Errorf("page: %+v; want %d free", node.page.Space, c.free)
			}
		}
		if node.page.State.Free != int64(size.GiB/2) {
			t.Errorf("state: got %+v", node.page.State)
		}
	})
}

func TestAFullDiskIsBlamed(t *testing.T) {
	machine := filling{&host.FakeMachine{}, map[string]size.Size{"/state": 0, "/data": size.GiB, "/log": 0}}
	s := Site{Machine: machine, Mounts: []Mount{{"/state", "", false}, {"/data", "", true}, {"/log", "", true}}}
	if got, want := s.Blame("Writing to log file failed"), "Writing to log file failed; /log is full"; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
	if got, want := s.Blame(""), "/log is full"; got != want {
		t.Errorf("without words: got %q; want %q", got, want)
	}
	machine.free["/log"] = size.GiB
	if got := s.Blame("x"); got != "x" {
		t.Errorf("with room: got %q", got)
	}
}
