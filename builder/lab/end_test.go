package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"grove/internal/host"
	"grove/internal/spec"
)

// TestHelperLab is not a test: it is the lab of another process for the next one.
func TestHelperLab(t *testing.T) {
	dir := os.Getenv("GROVE_LAB_TEST")
	if dir == "" {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l, err := Up(ctx, Config{Image: sector(t, guest), Nodes: []spec.Personal{{Hostname: "a"}, {Hostname: "b"}}, Dir: dir, Host: host.Real{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range l.Nodes() {
		fmt.Println("pid", n.PID)
	}
	l.Wait(ctx)
	if err := l.Close(context.WithoutCancel(ctx)); err != nil {
		t.Fatal(err)
	}
}

func TestNoQEMUOutlivesTheLab(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal os.Signal
	}{{"interrupted", os.Interrupt}, {"killed", os.Kill}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			var out lines
			cmd := exec.Command(os.Args[0], "-test.run=^TestHelperLab$", "-test.v")
			cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "GROVE_LAB_TEST="+dir, "TMPDIR="+dir), &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var pids []int
			for end := time.Now().Add(30 * time.Second); len(pids) < 2 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				pids = out.pids()
			}
			if len(pids) != 2 {
				cmd.Process.Kill()
				t.Fatalf("no lab came up: %s", out.String())
			}
			cmd.Process.Signal(c.signal)
			err := cmd.Wait()
			if (err == nil) != (c.signal == os.Interrupt) {
				t.Errorf("the lab ended with %v: %s", err, out.String())
			}
			for end := time.Now().Add(5 * time.Second); (alive(pids[0]) || alive(pids[1])) && time.Now().Before(end); {
				time.Sleep(50 * time.Millisecond)
			}
			for _, pid := range pids {
				if alive(pid) {
					t.Errorf("QEMU, process %d, outlives its lab", pid)
					syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		})
	}
}

// lines is what another process prints. It embeds no Buffer, whose ReadFrom would go by the lock.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) pids() (all []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range regexp.MustCompile(`(?m)^pid (\d+)$`).FindAllStringSubmatch(l.text.String(), -1) {
		var pid int
		fmt.Sscan(m[1], &pid)
		all = append(all, pid)
	}
	return all
}
