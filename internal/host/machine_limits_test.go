package host

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A test may not raise a hard limit: it lowers its own soft ones, and its child has them as high as can be.
func TestDaemonHasItsLimitsAndTheAgentKeepsItsOwn(t *testing.T) {
	d := daemon(t, "cat /proc/$$/limits; sleep 60")
	own, want := map[string]syscall.Rlimit{}, []string{}
	for _, l := range []struct{ name, title string }{{"memlock", "Max locked memory"}, {"nofile", "Max open files"}, {"nproc", "Max processes"}} {
		var old syscall.Rlimit
		if err := syscall.Getrlimit(resources[l.name], &old); err != nil {
			t.Fatal(err)
		}
		lower := syscall.Rlimit{Cur: min(old.Max/2, 1<<20), Max: old.Max}
		if err := syscall.Setrlimit(resources[l.name], &lower); err != nil {
			t.Fatal(err)
		}
		defer syscall.Setrlimit(resources[l.name], &old)
		own[l.name] = lower
		shown, value := fmt.Sprint(old.Max), int64(old.Max)
		if value < 0 {
			shown = "unlimited"
		}
		want = append(want, fmt.Sprintf(`%s\s+%s\s+%s `, l.title, shown, shown))
		d.Limits = append(d.Limits, Limit{l.name, value})
	}
	spawn(t, d)
	text := ""
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(text, "Max realtime timeout"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("got %q", text)
		}
		data, _ := os.ReadFile(d.Output)
		text = string(data)
	}
	for _, line := range want {
		if !regexp.MustCompile(line).MatchString(text) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	for name, before := range own {
		var after syscall.Rlimit
		if err := syscall.Getrlimit(resources[name], &after); err != nil || before != after {
			t.Errorf("%s: the agent's own was %v, is %v, %v", name, before, after, err)
		}
	}
}

func TestLimitBeyondWhatIsPossibleIsAnError(t *testing.T) {
	d := daemon(t, "exit 0")
	d.Limits = []Limit{{"nofile", 1 << 40}} // above fs.nr_open
	if _, err := (Real{}).Spawn(d); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("set the limit nofile to %d", int64(1)<<40)) {
		t.Errorf("got %v", err)
	}
	d.Limits = []Limit{{"colour", 1}}
	if _, err := (Real{}).Spawn(d); err == nil || !strings.Contains(err.Error(), "BUG") {
		t.Errorf("got %v", err)
	}
}
