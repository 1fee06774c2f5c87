package host

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// StartInteractive see Talks. What the fake's Programs prints is said at once; then the program has ended.
func (f *FakeMachine) StartInteractive(i Interactive) (Talk, error) {
	out, err := f.Run(context.Background(), Command{Path: i.Path, Args: i.Args, Env: i.Env, Clean: true, Dir: i.Dir})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", i.Path, err)
	}
	return pretendedTalk{strings.NewReader(string(out))}, nil
}

// Marked see Talks. These are the daemons with the entry.
func (f *FakeMachine) Marked(entry string) (found []Running) {
	defer f.lock()()
	for _, p := range f.processes {
		if p.how == "" && slices.Contains(p.daemon.Env, entry) {
			found = append(found, p.Running)
		}
	}
	return found
}

// HangUp see Talks.
func (f *FakeMachine) HangUp(p Running) error { f.End(p.PID, "signal hangup"); return nil }

type pretendedTalk struct{ output io.Reader }

func (t pretendedTalk) PID() int                  { return 1 }
func (t pretendedTalk) Input() io.WriteCloser     { return t }
func (t pretendedTalk) Output() io.Reader         { return t.output }
func (t pretendedTalk) Errors() io.Reader         { return strings.NewReader("") }
func (pretendedTalk) Resize(Window) error         { return nil }
func (pretendedTalk) Signal(string) error         { return nil }
func (pretendedTalk) Wait() (int, string)         { return 0, "" }
func (pretendedTalk) Write(p []byte) (int, error) { return len(p), nil }
func (pretendedTalk) Close() error                { return nil }
