package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The true machine's processes, with programs that every Linux has. They run as who runs the test.

func daemon(t *testing.T, script string) Daemon {
	t.Helper()
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	return Daemon{Path: sh, Args: []string{"-c", script, t.Name()}, Env: []string{"PATH=/usr/bin:/bin"}, Output: filepath.Join(t.TempDir(), "out"), UID: os.Getuid(), GID: os.Getgid()}
}

func spawn(t *testing.T, d Daemon) Running {
	t.Helper()
	p, err := Real{}.Spawn(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = Real{}.Kill(p) })
	return p
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestDaemonSaysHowItEnded(t *testing.T) {
	for script, want := range map[string]string{"exit 14": "exit code 14", "kill -9 $$": "signal killed", "sleep 0.2; exit 0": "exit code 0"} {
		p := spawn(t, daemon(t, script))
		if how, err := (Real{}).Wait(soon(t), p); how != want || err != nil {
			t.Errorf("%s: got %q, %v; want %q", script, how, err, want)
		}
	}
}

func TestDaemonHasItsOwnSessionAndOutput(t *testing.T) {
	d := daemon(t, `echo "$PATH $(pwd)"; cut -d' ' -f6 /proc/$$/stat; cat; sleep 60`)
	p := spawn(t, d)
	want := fmt.Sprintf("/usr/bin:/bin /\n%d\n", p.PID)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		got, err := os.ReadFile(d.Output)
		if string(got) == want {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
	}
}

func TestDaemonIsFoundByWhatItRuns(t *testing.T) {
	d := daemon(t, "sleep 60; exit 3")
	p := spawn(t, d)
	// Until the child has become the program it is still a copy of the test.
	for deadline := time.Now().Add(20 * time.Second); !slices.Equal(Real{}.Find(d.Path, d.Args...), []Running{p}); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got %v; want %v", Real{}.Find(d.Path, d.Args...), p)
		}
	}
	if got := (Real{}).Find(d.Path, "-c", "something else"); len(got) > 0 {
		t.Errorf("with other arguments: got %v", got)
	}
	if got := (Real{}).Resident(p.PID); got <= 0 {
		t.Errorf("resident: got %s", got)
	}
	if err := (Real{}).Terminate(p); err != nil {
		t.Error(err)
	}
	if how, err := (Real{}).Wait(soon(t), p); how != "signal terminated" || err != nil {
		t.Errorf("got %q, %v", how, err)
	}
	if got := (Real{}).Find(d.Path, d.Args...); len(got) > 0 {
		t.Errorf("after its end: got %v", got)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	p := spawn(t, daemon(t, "sleep 60; exit 3"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := (Real{}).Wait(ctx, p); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestAnotherProcessOfTheSameNumberIsLeftAlone(t *testing.T) {
	p := spawn(t, daemon(t, "sleep 60; exit 3"))
	other := Running{p.PID, p.Start + 1}
	if err := (Real{}).Kill(other); err != nil {
		t.Error(err)
	}
	if how, err := (Real{}).Wait(soon(t), other); how != "" || err != nil {
		t.Errorf("got %q, %v; want to know nothing of it", how, err)
	}
	if start, err := started(p.PID); err != nil || start != p.Start {
		t.Errorf("got %d, %v; want it to run on", start, err)
	}
}

func TestOrphanIsWaitedForAndHowIsNotKnown(t *testing.T) {
	out, err := exec.Command("/bin/sh", "-c", "sleep 0.3 >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	var p Running
	if _, err := fmt.Sscan(strings.TrimSpace(string(out)), &p.PID); err != nil {
		t.Fatal(err)
	}
	if p.Start, err = started(p.PID); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if how, err := (Real{}).Wait(soon(t), p); how != "" || err != nil || time.Since(begin) < 50*time.Millisecond {
		t.Errorf("got %q, %v after %s", how, err, time.Since(begin))
	}
}

func TestFactsOfTheMachine(t *testing.T) {
	if m, err := (Real{}).Memory(); err != nil || m < 64<<20 {
		t.Errorf("memory: got %s, %v", m, err)
	}
	if up := (Real{}).Uptime(); up <= 0 {
		t.Errorf("uptime: got %s", up)
	}
	if total, free, err := (Real{}).Space(t.TempDir()); err != nil || free <= 0 || total < free {
		t.Errorf("space: got %s, %s, %v", total, free, err)
	}
	if source, mounted := (Real{}).Mounted("/proc"); !mounted || source == "" {
		t.Errorf("/proc: got %q, %v", source, mounted)
	}
	if _, mounted := (Real{}).Mounted("/proc/none"); mounted {
		t.Error("/proc/none is mounted")
	}
}
