package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTalkIsLeftOutOfOutput(t *testing.T) {
	out := "/dev/vdb\ngrove 12.10 mongod: 6.0.5 answers on 10.5.0.11:27017\n/dev/vdc grove 12.20 storage: begins: make ext4\n\nlast"
	if got, want := withoutTalk(out), "/dev/vdb\n/dev/vdc \n\nlast"; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestSharesAreOfTheSum(t *testing.T) {
	if got, want := shares("data 7540736.00\njournal 417792.00\nlog 417792.00"), "data 90%\njournal 5%\nlog 5%"; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
	if got := shares("data none"); !strings.Contains(got, "not a size") {
		t.Errorf("got %q; want it refused", got)
	}
}

func TestArraysAreFoundInMdstat(t *testing.T) {
	stat := `Personalities : [raid10]
md127 : active raid10 vde[3] vdd[2] vdc[1] vdb[0]
      8379392 blocks super 1.2 256K chunks 2 near-copies [4/4] [UUUU]
      [==>..................]  resync = 12.1% (1016320/8379392) finish=0.5min speed=203264K/sec
      bitmap: 1/1 pages [4KB], 65536KB chunk

unused devices: <none>`
	found := arrayLine.FindStringSubmatch(stat)
	want := []string{"md127", "raid10", "8379392 blocks super 1.2 256K chunks 2 near-copies [4/4] [UUUU]"}
	if found == nil {
		t.Fatal("not found")
	}
	if diff := cmp.Diff(want, found[1:]); diff != "" {
		t.Error(diff)
	}
}

func TestPointsOfACourse(t *testing.T) {
	c := course{said: []saying{
		{1, "waits for vdb"},
		{2, "begins: make ext4 on grove/data, label db1 (journal 1)"}, {4, "done: make ext4 on grove/data, label db1"},
		{5, "begins: make ext4 on grove/log, label db1 (journal 2)"}, {6, "done: make ext4 on grove/log, label db1"},
		{6, "begins: mount grove/data on /data"}, {6.5, "done: mount grove/data on /data"}, {7, "begins: mount grove/log on /log"}, {7, "done: mount grove/log on /log"},
		{8, "ready: /data"},
	}}
	want := []point{
		{"as it begins: make ext4 on grove/data, label db1", `begins: make ext4 on grove/data, label db1`, 0},
		{"1.00 s into it: make ext4 on grove/data, label db1", `begins: make ext4 on grove/data, label db1`, time.Second},
		{"as it is done: make ext4 on grove/data, label db1", `done: make ext4 on grove/data, label db1`, 0},
		{"as it begins: make ext4 on grove/log, label db1", `begins: make ext4 on grove/log, label db1`, 0},
		{"as it is done: make ext4 on grove/log, label db1", `done: make ext4 on grove/log, label db1`, 0},
		{"as it begins: mount grove/data on /data", `begins: mount grove/data on /data`, 0},
		{"0.25 s into it: mount grove/data on /data", `begins: mount grove/data on /data`, 250 * time.Millisecond},
		{"0.05 s after all is ready", "ready", 50 * time.Millisecond},
		{"1 s after all is ready", "ready", time.Second},
	}
	if diff := cmp.Diff(want, c.points(), cmp.AllowUnexported(point{})); diff != "" {
		t.Error(diff)
	}
	if !c.complete(false) || c.complete(true) {
		t.Error("a course without swap: want it complete only where none is to be")
	}
	if got := spread(want, 3); got[0] != want[0] || got[1] != want[4] || got[2] != want[8] {
		t.Errorf("spread: got %v; want the first, the middle and the last", got)
	}
}

func TestViewsNameWhatIsMissing(t *testing.T) {
	v := view{"/data": "ext4 rw,noexec,noatime", "array": ""}
	if err := v.wants([]sight{{"/data", `^ext4`}, {"array", `^$`}}); err != nil {
		t.Error(err)
	}
	if err := v.wants([]sight{{"/log", `^ext4`}}); err == nil || !strings.Contains(err.Error(), `no "^ext4" in /log`) {
		t.Errorf("got %v; want /log named", err)
	}
}

func TestAPanicOfTheEmulatorsIsTold(t *testing.T) {
	const oops, panics, node = "[    7.4] Oops: int3: 0000 [#1] PREEMPT\n", "[    7.5] Kernel panic - not syncing: Fatal exception\n", "grove 4.26 init: kernel 6.12\n"
	for _, c := range []struct {
		name, log string
		want      bool
	}{
		{"at the end", node + oops + panics, true},
		{"a panic of another kind", node + panics, false},
		{"before a reset, after which the node came up", oops + panics + node, false},
		{"none", node, false},
	} {
		if got := spoiltByEmulator(c.log); got != c.want {
			t.Errorf("%s: got %v; want %v", c.name, got, c.want)
		}
	}
}
