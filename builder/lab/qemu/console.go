package qemu

import (
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Console is the serial line of one machine over all its boots. What the guest says is cleaned of escape sequences and carriage returns, given out line by line, and
// kept for Expect.
type Console struct {
	line func(at time.Duration, text string)
	log  io.Writer

	mu    sync.Mutex
	conn  net.Conn
	start time.Time
	heard time.Time
	kept  []byte        // not yet consumed by Expect
	news  chan struct{} // closed and renewed with every piece
}

// keep is how much Expect can look back at.
const keep = 256 << 10

// NewConsole writes the lines with their time in seconds to log, and calls line for each, from one goroutine at a time.
func NewConsole(log io.Writer, line func(at time.Duration, text string)) *Console {
	return &Console{log: log, line: line, news: make(chan struct{})}
}

// Attach reads a connection that QEMU made until it ends; times count from start. The channel is closed at the end, when the last line is given out.
func (c *Console) Attach(conn net.Conn, start time.Time) <-chan struct{} {
	c.mu.Lock()
	c.conn, c.start, c.heard, c.kept = conn, start, time.Now(), nil
	c.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer conn.Close()
		c.read(conn)
	}()
	return done
}

func (c *Console) read(conn net.Conn) {
	piece := make([]byte, 32<<10)
	var filter filter
	var begun []byte // a line without its end
	for {
		n, err := conn.Read(piece)
		text := filter.clean(piece[:n])
		at := c.keep(text)
		begun = append(begun, text...)
		for {
			line, rest, found := strings.Cut(string(begun), "\n")
			if !found {
				break
			}
			begun = []byte(rest)
			c.tell(at, line)
		}
		if err != nil {
			if len(begun) > 0 {
				c.tell(at, string(begun))
			}
			return
		}
	}
}

func (c *Console) keep(text []byte) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = time.Now()
	c.kept = append(c.kept, text...)
	if over := len(c.kept) - keep; over > 0 {
		c.kept = append([]byte(nil), c.kept[over:]...)
	}
	close(c.news)
	c.news = make(chan struct{})
	return c.heard.Sub(c.start)
}

func (c *Console) tell(at time.Duration, line string) {
	c.line(at, line)
	fmt.Fprintf(c.log, "[%9.3f] %s\n", at.Seconds(), line) // a full disk must not stop the boot
}

// Heard is when the guest last said anything.
func (c *Console) Heard() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard
}

// Type sends a line as a keyboard would, ended by the return key.
func (c *Console) Type(line string) error {
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn == nil {
		return fmt.Errorf("type %q: the machine is off", line)
	}
	conn.SetWriteDeadline(time.Now().Add(10 * time.Second)) // a guest that reads nothing fills the line
	if _, err := io.WriteString(conn, line+"\r"); err != nil {
		return fmt.Errorf("type %q: %w", line, err)
	}
	return nil
}

// Expect waits until the pattern is found in what was said since the last match, and gives the match and its groups.
func (c *Console) Expect(ctx context.Context, pattern *regexp.Regexp) ([]string, error) {
	for {
		c.mu.Lock()
		found, news := pattern.FindSubmatchIndex(c.kept), c.news
		if found != nil {
			text := string(c.kept)
			c.kept = c.kept[found[1]:]
			c.mu.Unlock()
			return groups(text, found), nil
		}
		c.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %q on the console: %w; last heard: %q", pattern, context.Cause(ctx), c.end(200))
		}
	}
}

func groups(text string, found []int) []string {
	all := make([]string, len(found)/2)
	for i := range all {
		if from, to := found[2*i], found[2*i+1]; from >= 0 {
			all[i] = text[from:to]
		}
	}
	return all
}

func (c *Console) end(n int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.kept[max(len(c.kept)-n, 0):])
}
