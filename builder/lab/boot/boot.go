// Package boot is what is known of one boot of a node, from power-on to its end: the marks of time, the lines it said, why it failed.
//
// A Boot decides from console lines, clock readings and QEMU's last word; it touches no machine.
package boot

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"grove/internal/spec"
)

// Limits are how long a boot may take.
type Limits struct {
	Boot    time.Duration // to mongod's answer
	Silence time.Duration // without a word on the console
}

// Boot is a record that is written from several goroutines.
type Boot struct {
	Start time.Time
	off   string // QEMU's word for an end as it should be

	ready  chan struct{}
	failed chan struct{}
	ended  chan struct{}

	mu    sync.Mutex
	asked bool
	lame  bool   // the emulator has spoilt it, and it begins anew
	anew  int    // how often
	last  string // heard on the console
	facts Facts
}

// Facts is a copy of what is known.
type Facts struct {
	Version string // of mongod, once it answered
	Times   Times
	Lines   []spec.Line // all of Grove's, in order
	Reason  string      // why QEMU ended, in its own words
	Fault   error       // the first one
}

// New is a boot that starts now. off is QEMU's word for the end that it should have: guest-shutdown, or guest-reset of a machine that cannot switch itself off.
func New(off string) *Boot {
	return &Boot{Start: time.Now(), off: off, ready: make(chan struct{}), failed: make(chan struct{}), ended: make(chan struct{})}
}

// Ready is closed when mongod answers, Failed at the first fault, Ended when the machine is off and all it said is read.
func (b *Boot) Ready() <-chan struct{}  { return b.ready }
func (b *Boot) Failed() <-chan struct{} { return b.failed }
func (b *Boot) Ended() <-chan struct{}  { return b.ended }

// Is tells whether one of the three has come.
func Is(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Facts gives what is known by now.
func (b *Boot) Facts() Facts {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.facts
	f.Lines = append([]spec.Line(nil), f.Lines...)
	return f
}

// Listens tells whether the node has come far enough to obey the power button.
func (b *Boot) Listens() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.facts.Times.Init > 0 && b.facts.Fault == nil
}

// mostAnew is how often a boot that the emulator has spoilt begins anew.
const mostAnew = 3

// Spoilt tells whether this line says that the emulator has spoilt the boot, before the node has come to do anything: then the machine is to be reset, and what the
// kernel still says of it is no fault.
func (b *Boot) Spoilt(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !strings.Contains(text, halfPatched) || b.facts.Times.Init > 0 || b.lame || b.anew == mostAnew {
		return false
	}
	b.lame = true
	b.anew++
	return true
}

// Anew notes that the machine begins from its firmware again.
func (b *Boot) Anew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lame = false
}

// Hear takes a line of the console. When it is one of Grove's, that is returned; fault is nil unless this line ends the boot.
func (b *Boot) Hear(at time.Duration, text string) (line spec.Line, ours bool, fault error) {
	line, ours = spec.ParseLine(text)
	b.mu.Lock()
	if strings.TrimSpace(text) != "" {
		b.last = text
	}
	lame := b.lame
	if ours {
		b.facts.Lines = append(b.facts.Lines, line)
		b.facts.Times = b.facts.Times.with(at, line)
	}
	b.mu.Unlock()
	if means := faultIn(text); means != "" && !lame {
		fault = b.fail(errors.New(means))
	}
	return line, ours, fault
}

// HearBelow takes a line of the firmware's own port. fault is nil unless this line ends the boot.
func (b *Boot) HearBelow(text string) (fault error) {
	if means := faultIn(text); means != "" {
		return b.fail(errors.New(means))
	}
	return nil
}

// Answer is mongod's first, from outside.
func (b *Boot) Answer(version string) Times {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts.Version, b.facts.Times.Answer = version, time.Since(b.Start)
	close(b.ready)
	return b.facts.Times
}

// Look gives the boot up when it is late or silent. The fault is returned once.
func (b *Boot) Look(heard time.Time, limit Limits) error {
	b.mu.Lock()
	last := b.last
	b.mu.Unlock()
	if err := late(time.Since(b.Start), time.Since(heard), limit, last); err != nil {
		return b.fail(err)
	}
	return nil
}

// Ask notes that the machine is going to be ended on purpose.
func (b *Boot) Ask() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = true
}

// Finish notes that the machine is off: reason is QEMU's word for it, exit its exit as a program, printed the end of what it printed. The fault is returned if this is
// the first. End comes after it.
func (b *Boot) Finish(reason string, exit error, printed string) error {
	b.mu.Lock()
	b.facts.Reason = reason
	asked, last := b.asked, b.last
	b.mu.Unlock()
	if asked {
		return nil
	}
	return b.fail(unasked(reason, exit, printed, last))
}

// End closes Ended, once all that was to be told of the boot is told.
func (b *Boot) End() { close(b.ended) }

// fail keeps the first fault and returns it; later ones follow from it and give nil.
func (b *Boot) fail(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.facts.Fault != nil {
		return nil
	}
	b.facts.Fault = err
	close(b.failed)
	return err
}

// Orderly is nil when the node has stopped as it should.
func (b *Boot) Orderly() error {
	f := b.Facts()
	return orderly(f.Lines, f.Reason, b.off)
}

// unasked says why a machine that nobody switched off is gone.
func unasked(reason string, exit error, printed, last string) error {
	switch {
	case exit != nil:
		return fmt.Errorf("QEMU ended: %w: %s", exit, strings.TrimSpace(printed))
	case reason == "guest-reset":
		return fmt.Errorf("the node restarted by itself; last on its console: %q", last)
	case reason == "guest-shutdown":
		return fmt.Errorf("the node switched itself off; last on its console: %q", last)
	case reason == "":
		reason = "it gave no reason"
	}
	return fmt.Errorf("QEMU ended: %s; last on the console: %q", reason, last)
}
