package host

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"
)

// Linux sends a program its death signal when the thread that started it ends (prctl(2), PR_SET_PDEATHSIG), and Go ends the thread of a goroutine that
// returns while locked to it, unless that is the first thread: hence more than one.
func TestAProgramOutlivesTheThreadOfItsCaller(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	started := make(chan Process)
	for range 4 {
		go func() {
			runtime.LockOSThread()
			p, err := Real{}.Start(ctx, Command{Path: "sleep", Args: []string{"1"}})
			if err != nil {
				t.Error(err)
			}
			started <- p
		}()
		p := <-started
		if p == nil {
			t.Fatal("not started")
		}
		if err := p.Wait(); err != nil {
			t.Errorf("got %v; want it to run to its end", err)
		}
	}
}

func TestAProgramIsSignalled(t *testing.T) {
	p, err := Real{}.Start(context.Background(), Command{Path: "sleep", Args: []string{"30"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := p.Wait(); err == nil || err.Error() != "signal: interrupt" {
		t.Errorf("got %v; want signal: interrupt", err)
	}
}
