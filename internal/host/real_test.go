package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRunGivesTheEndOfWhatAFailedProgramPrinted(t *testing.T) {
	_, err := Real{}.Run(context.Background(), Command{Path: "/bin/sh", Args: []string{"-c", "echo no room >&2; exit 7"}})
	var exit *Exit
	if !errors.As(err, &exit) || exit.Code != 7 || exit.Output != "no room" {
		t.Fatalf("got %v; want exit code 7 with its words", err)
	}
	if want := `/bin/sh -c 'echo no room >&2; exit 7': exit code 7: no room`; err.Error() != want {
		t.Errorf("got %s; want %s", err, want)
	}
}

func TestRunKeepsTheEnvironmentClean(t *testing.T) {
	t.Setenv("LEAK", "yes")
	out, err := Real{}.Run(context.Background(), Command{Path: "/usr/bin/env", Clean: true, Env: []string{"A=b"}})
	if err != nil || string(out) != "A=b\n" {
		t.Errorf("got %q, %v; want A=b alone", out, err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := Real{}.Run(ctx, Command{Path: "/bin/sleep", Args: []string{"60"}})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("got %v after %s; want the deadline at once", err, time.Since(start))
	}
}

func TestLockExcludesAndEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Real{}.Lock(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	waited := 0
	if _, err := (Real{}).Lock(ctx, path, func() { waited++ }); !errors.Is(err, context.DeadlineExceeded) || waited != 1 {
		t.Errorf("got %v, told %d times; want the deadline, told once", err, waited)
	}
	unlock()
	again, err := Real{}.Lock(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestExtentsLeavesHolesOut(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Truncate(64 << 20)
	f.WriteAt([]byte(strings.Repeat("x", 4096)), 32<<20)
	got, err := Real{}.Extents(f)
	if err != nil || len(got) != 1 || got[0].Start > 32<<20 || got[0].Start+got[0].Size < 32<<20+4096 || got[0].Size > 1<<20 {
		t.Errorf("got %v, %v; want one extent round 32 MiB", got, err)
	}
}

func TestFreeOfAMissingPathNamesIt(t *testing.T) {
	if _, err := (Real{}).Free("/no/such/place"); err == nil || !strings.Contains(err.Error(), "/no/such/place") {
		t.Errorf("got %v", err)
	}
}
