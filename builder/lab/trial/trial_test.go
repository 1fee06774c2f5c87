package trial

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"grove/builder/lab"
	"grove/builder/lab/boot"
	"grove/internal/host"
	"grove/internal/size"
	"grove/internal/spec"
)

// sector is the lab's guest of one sector: it boots and stops in order, but has no mongod.
func sector(t *testing.T) lab.Config {
	t.Helper()
	disk := make([]byte, size.MiB)
	code, err := os.ReadFile("../testdata/guest.bin")
	if err != nil {
		t.Fatal(err)
	}
	copy(disk, code)
	disk[510], disk[511] = 0x55, 0xaa
	path := filepath.Join(t.TempDir(), "sector.img")
	if err := os.WriteFile(path, disk, 0o444); err != nil {
		t.Fatal(err)
	}
	return lab.Config{
		Image: lab.Image{Name: "sector", Path: path, Lab: spec.Lab{Machine: "q35", CPU: "max", CPUs: 1, Memory: 64 * size.MiB, Disk: 4 * size.MiB}},
		Nodes: []spec.Personal{{Hostname: "node1"}}, Dir: t.TempDir(), Host: host.Real{}, Boot: 3 * time.Second,
	}
}

func TestANodeWithoutAMongodFailsItsTrial(t *testing.T) {
	v, err := Run(context.Background(), Config{Config: sector(t)})
	if err != nil {
		t.Fatal(err)
	}
	if v.Passed || len(v.Checks) != 1 || v.Checks[0].Node != "node1" || !strings.HasPrefix(v.Checks[0].Fault, "mongod does not answer 3 s after QEMU's start") {
		t.Errorf("got %+v; want one check, failed", v)
	}
	if v.Firmware != "bios" || v.Bus != "virtio" || len(v.Nodes) != 1 || v.Nodes[0].Times.Init == 0 {
		t.Errorf("got %+v; want the node with its times", v)
	}
	report, err := os.ReadFile(v.JUnit)
	if err != nil || !strings.Contains(string(report), `<failure message="mongod does not answer`) {
		t.Errorf("JUnit: got %s, %v; want the failure in it", report, err)
	}
	log, err := os.ReadFile(v.Nodes[0].Serial)
	if err != nil || !strings.Contains(string(log), "init: one sector") {
		t.Errorf("serial log: got %q, %v", log, err)
	}
}

func TestATrialInterruptedIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	interrupted := errors.New("interrupted")
	c := sector(t)
	c.See = func(e lab.Event) {
		if e.Topic == "init" {
			cancel(interrupted)
		}
	}
	if _, err := Run(ctx, Config{Config: c}); !errors.Is(err, interrupted) {
		t.Errorf("got %v; want it interrupted", err)
	}
	entries, _ := filepath.Glob(filepath.Join(c.Dir, "*", "*.qcow2"))
	if len(entries) > 0 {
		t.Errorf("left: %v", entries)
	}
}

func TestJUnitNamesEachCheck(t *testing.T) {
	v := Verdict{Image: "demo", Firmware: "uefi", Bus: "nvme", Took: 31 * time.Second,
		Checks: []Check{
			{Node: "node1", Name: "mongod answers", Took: 18 * time.Second},
			{Node: "node1", Name: "stops in order", Took: 2 * time.Second, Fault: `QEMU ended by "", want <guest-shutdown>`},
		},
		Nodes: []lab.Status{{Name: "node1", Version: "6.0.5", Serial: "out/node1.serial.log",
			Times: boot.Times{Kernel: 8 * time.Second, Init: 12 * time.Second, Answer: 18 * time.Second}}},
	}
	got, err := v.junit()
	if err != nil {
		t.Fatal(err)
	}
	want := `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="demo, uefi, nvme disk" tests="2" failures="1" time="31.000">
  <testcase classname="node1" name="mongod answers" time="18.000"></testcase>
  <testcase classname="node1" name="stops in order" time="2.000">
    <failure message="QEMU ended by &#34;&#34;, want &lt;guest-shutdown&gt;"></failure>
  </testcase>
  <system-out>node1: mongod 6.0.5, 18.0 s: 8.0 firmware and boot loader, 4.0 kernel, 6.0 mongod; console: out/node1.serial.log&#xA;</system-out>
</testsuite>
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestAVerdictWithoutAnyCheckHasNotPassed(t *testing.T) {
	for _, c := range []struct {
		checks []Check
		want   bool
	}{{nil, false}, {[]Check{{}}, true}, {[]Check{{}, {Fault: "x"}}, false}} {
		if got := passed(c.checks); got != c.want {
			t.Errorf("%+v: got %v; want %v", c.checks, got, c.want)
		}
	}
}

func TestDisksAreReadyBeforeMongod(t *testing.T) {
	for _, c := range []struct{ said, want string }{
		{"ready: /data ext4 on /dev/vdb", ""},
		{"refused: vdb is not blank", `the node said last of them: "refused: vdb is not blank"`},
		{"", `the node said last of them: ""`},
	} {
		got := ""
		if err := ready(context.Background(), lab.Status{Storage: c.said}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q: got %q; want %q", c.said, got, c.want)
		}
	}
}
