package lab

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"time"
)

// Cut is an order to cut a node's power at a line of its console.
type Cut struct {
	pattern *regexp.Regexp
	after   time.Duration
	struck  bool // the line has come
	line    string
	ended   <-chan struct{} // of the boot that it struck
	done    chan struct{}   // closed when QEMU is told
}

// CutAt arms a cut: at the first line of the node's console that matches from now on, at once or some time after it. It holds over reboots until it has struck, and takes
// the place of one before.
//
// At once means that QEMU is killed in the goroutine that reads the console, before the line is logged: the guest runs on for less than a millisecond.
func (l *Lab) CutAt(name string, pattern *regexp.Regexp, after time.Duration) (*Cut, error) {
	n, err := l.find(name)
	if err != nil {
		return nil, err
	}
	c := &Cut{pattern: pattern, after: after, done: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = c
	return c, nil
}

// Wait ends when the node is off, and gives the line that the cut struck at.
func (c *Cut) Wait(ctx context.Context) (line string, err error) {
	late := func() error { return fmt.Errorf("wait for a cut at %q: %w", c.pattern, context.Cause(ctx)) }
	select {
	case <-c.done:
	case <-ctx.Done():
		return "", late()
	}
	select {
	case <-c.ended:
	case <-ctx.Done():
		return "", late()
	}
	return c.line, nil
}

// consider strikes if this is the line. It is called for each, from one goroutine.
func (n *node) consider(text string) {
	n.mu.Lock()
	c, p := n.cut, n.last
	n.mu.Unlock()
	if c == nil || c.struck || !c.pattern.MatchString(text) {
		return
	}
	c.struck, c.line, c.ended = true, text, p.boot.Ended()
	if c.after == 0 {
		c.strike(p)
		return
	}
	n.watch.Go(func() {
		select {
		case <-time.After(c.after):
		case <-c.ended:
		}
		c.strike(p)
	})
}

func (c *Cut) strike(p *power) {
	p.boot.Ask()
	_ = p.process.Signal(os.Kill) // it may have ended by itself
	close(c.done)
}
