// Package report shows a build's steps and a lab's nodes to a person: bars that say how much of how much on a terminal, plain lines in a pipe, and the same as
// values for a program.
//
// A step that was done anew is a line with the reason and its time. One that was kept is a line in a pipe; on a terminal the kept ones are only counted. Nothing
// is printed but through the writer given, and after Close nothing at all.
package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"grove/internal/step"
)

// Report is a step.Observer. Its methods may be called from several goroutines.
type Report struct {
	terminal bool

	mu    sync.Mutex
	out   io.Writer
	bars  *bars // nil unless on a terminal
	done  []Entry
	ended bool
}

// Entry is a finished step.
type Entry struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Kept    bool    `json:"kept"`
	Why     string  `json:"why,omitempty"`
	Seconds float64 `json:"seconds"`
	Fault   string  `json:"fault,omitempty"`
}

// New reports on w; terminal says whether that is one that understands cursor movements.
func New(w io.Writer, terminal bool) *Report {
	r := &Report{terminal: terminal, out: w}
	if terminal {
		r.bars = newBars(w)
		r.out = r.bars
	}
	return r
}

// Steps reports on w, with bars if it is a terminal that can show them.
func Steps(w io.Writer) *Report { return New(w, isTerminal(w) && os.Getenv("TERM") != "dumb") }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0
}

// Started see step.Observer.
func (r *Report) Started(s step.Step) step.Counter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bars == nil || r.ended {
		return step.Silent{}
	}
	return r.bars.add(s)
}

// Done see step.Observer.
func (r *Report) Done(s step.Step, out step.Outcome, took time.Duration, err error) {
	e := Entry{ID: s.ID, Name: s.Name, Kept: out.Reused && err == nil, Why: out.Why, Seconds: took.Seconds()}
	if err != nil {
		e.Fault = err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.done = append(r.done, e)
	if r.bars != nil {
		r.bars.drop(s)
	}
	if text := line(e, err, r.terminal); text != "" {
		fmt.Fprintln(r.out, text)
	}
}

// line is what is said of a finished step, or "". The error itself comes once, from whoever ends the command.
func line(e Entry, err error, terminal bool) string {
	why := ""
	if e.Why != "" {
		why = " (" + e.Why + ")"
	}
	switch {
	case errors.Is(err, context.Canceled):
		return ""
	case err != nil:
		return fmt.Sprintf("failed %s, after %.1f s", e.Name, e.Seconds)
	case !e.Kept:
		return fmt.Sprintf("done   %s%s %.1f s", e.Name, why, e.Seconds)
	case terminal:
		return ""
	}
	return "kept   " + e.Name + why
}

// Node shows what happened to a node of the lab, at this time since its power-on: `node1   12.1 s  mongod: 6.0.5 answers on 10.5.0.11:27017`.
func (r *Report) Node(name string, at time.Duration, topic, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		fmt.Fprintf(r.out, "%-8s %6.1f s  %s: %s\n", name, at.Seconds(), topic, strings.TrimRight(text, "\r\n"))
	}
}

// Entries are the steps that have finished, in the order they did.
func (r *Report) Entries() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Entry(nil), r.done...)
}

// Close takes the bars away, ends what ran for them, and says how many steps were kept. It may be called more than once.
func (r *Report) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.ended = true
	kept := 0
	for _, e := range r.done {
		if e.Kept {
			kept++
		}
	}
	if r.terminal && kept > 0 {
		fmt.Fprintf(r.out, "kept   %d of %d steps, with nothing new in them\n", kept, len(r.done))
	}
	if r.bars != nil {
		r.bars.close()
	}
}
