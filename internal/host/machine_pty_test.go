package host

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func talkTo(t *testing.T, script string, w *Window) Talk {
	t.Helper()
	talk, err := Real{}.StartInteractive(Interactive{Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin", "MARK=" + t.Name()}, Dir: "/", Terminal: w})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = talk.Signal("KILL"); talk.Close() })
	return talk
}

// heard gives all that a program says, within a time that says that it ends at all.
func heard(t *testing.T, r io.Reader) string {
	t.Helper()
	all := make(chan string, 1)
	go func() { data, _ := io.ReadAll(r); all <- string(data) }()
	select {
	case s := <-all:
		return s
	case <-time.After(20 * time.Second):
		t.Fatal("the output has no end")
		return ""
	}
}

func TestProgramByPipes(t *testing.T) {
	talk := talkTo(t, "cat; echo bad >&2; exit 7", nil)
	go func() { _, _ = io.WriteString(talk.Input(), "hello\n"); talk.Input().Close() }()
	out, errs := heard(t, talk.Output()), heard(t, talk.Errors())
	if code, signal := talk.Wait(); out != "hello\n" || errs != "bad\n" || code != 7 || signal != "" {
		t.Errorf("got %q, %q, %d, %q", out, errs, code, signal)
	}
}

func TestProgramAtATerminal(t *testing.T) {
	talk := talkTo(t, "trap 'stty size; exit 3' WINCH; stty size; read line; while :; do sleep 0.05; done", &Window{80, 24})
	buffer := make([]byte, 100)
	n, _ := talk.Output().Read(buffer)
	if got := string(buffer[:n]); got != "24 80\r\n" {
		t.Fatalf("got %q", got)
	}
	_, _ = io.WriteString(talk.Input(), "go\n")
	if err := talk.Resize(Window{100, 50}); err != nil {
		t.Fatal(err)
	}
	out := heard(t, talk.Output())
	if code, _ := talk.Wait(); out != "go\r\n50 100\r\n" && out != "50 100\r\ngo\r\n" || code != 3 {
		t.Errorf("got %q, code %d", out, code)
	}
}

func TestEndOfInputAtATerminal(t *testing.T) {
	talk := talkTo(t, "cat >/dev/null; echo over", &Window{80, 24})
	time.Sleep(50 * time.Millisecond) // one that has not begun to read yet loses nothing
	_, _ = io.WriteString(talk.Input(), "begun")
	talk.Input().Close()
	if out := heard(t, talk.Output()); !strings.HasSuffix(out, "over\r\n") {
		t.Errorf("got %q", out)
	}
}

func TestSignalsGoToAllOfTheProgram(t *testing.T) {
	for name, want := range map[string]string{"INT": "INT", "TERM": "TERM", "HUP": "HUP"} {
		talk := talkTo(t, "sleep 60", nil)
		time.Sleep(100 * time.Millisecond)
		if err := talk.Signal(name); err != nil {
			t.Error(err)
		}
		if code, signal := talk.Wait(); code != -1 || signal != want {
			t.Errorf("%s: got %d, %q", name, code, signal)
		}
		if err := talk.Signal(name); err != nil {
			t.Errorf("after its end: %v", err)
		}
	}
	if err := talkTo(t, "exit 0", nil).Signal("WINK"); err == nil || !strings.Contains(err.Error(), `"WINK"`) {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsLeftRunningKeepsNobodyWaiting(t *testing.T) {
	talk := talkTo(t, "sleep 60 & head -c 300000 /dev/zero", nil)
	begin := time.Now()
	out := heard(t, talk.Output())
	code, _ := talk.Wait()
	if took := time.Since(begin); len(out) != 300000 || code != 0 || took > 10*time.Second {
		t.Errorf("got %d bytes, code %d after %s", len(out), code, took)
	}
	var left []Running
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if left = (Real{}).Marked("MARK=" + t.Name()); len(left) == 1 {
			break
		}
	}
	if len(left) != 1 {
		t.Fatalf("left: %v; want sleep", left)
	}
	if err := (Real{}).HangUp(left[0]); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(5 * time.Second); len((Real{}).Marked("MARK="+t.Name())) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("sleep does not mind")
		}
	}
}

func TestProgramAtATerminalIsHungUpByClose(t *testing.T) {
	talk := talkTo(t, "sleep 60", &Window{80, 24})
	talk.Close()
	if code, signal := talk.Wait(); code != -1 || signal != "HUP" {
		t.Errorf("got %d, %q", code, signal)
	}
}

func TestProgramThatIsNotThereIsNamed(t *testing.T) {
	before := len(files(t))
	for _, w := range []*Window{nil, {80, 24}} {
		if _, err := (Real{}).StartInteractive(Interactive{Path: "/no/such/shell", Terminal: w}); err == nil || !strings.Contains(err.Error(), "start /no/such/shell") {
			t.Errorf("got %v", err)
		}
	}
	if after := len(files(t)); after > before {
		t.Errorf("%d files are open, %d were", after, before)
	}
}

func files(t *testing.T) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return all
}
