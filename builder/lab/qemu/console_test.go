package qemu

import (
	"bytes"
	"context"
	"errors"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestFilterKeepsWhatAPersonReads(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain text, newline and tab", "a\tb\n", "a\tb\n"},
		{"carriage returns and bells", "a\r\nb\a", "a\nb"},
		{"colours and cursor", "\x1b[1;31mred\x1b[0m\x1b[2J\x1b[01;01Hx", "redx"},
		{"private modes and queries", "\x1b[?25l\x1b[6n\x1bcx", "x"},
		{"character sets", "\x1b(Bx", "x"},
		{"window titles", "\x1b]0;root@node\x07x\x1b]0;t\x1b\\y", "xy"},
		{"UTF-8", "näme…", "näme…"},
	} {
		for cut := range len(c.in) + 1 {
			var f filter
			got := string(f.clean([]byte(c.in[:cut]))) + string(f.clean([]byte(c.in[cut:])))
			if got != c.want {
				t.Errorf("%s, cut at %d: got %q; want %q", c.name, cut, got, c.want)
			}
		}
	}
}

func attached(t *testing.T) (c *Console, guest net.Conn, done <-chan struct{}, log *bytes.Buffer, said *[]string) {
	t.Helper()
	log, said = &bytes.Buffer{}, &[]string{}
	c = NewConsole(log, func(_ time.Duration, text string) { *said = append(*said, text) })
	guest, ours := net.Pipe()
	t.Cleanup(func() { guest.Close() })
	return c, guest, c.Attach(ours, time.Now().Add(-2*time.Second)), log, said
}

func TestConsoleGivesLinesAndLogsThemWithTheirTime(t *testing.T) {
	_, guest, done, log, said := attached(t)
	for _, piece := range []string{"one\r\ntw", "o\n\n", "begun"} {
		if _, err := guest.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	guest.Close()
	<-done
	if got, want := strings.Join(*said, "|"), "one|two||begun"; got != want {
		t.Errorf("lines: got %q; want %q", got, want)
	}
	if want := regexp.MustCompile(`^\[    2\.\d{3}\] one\n\[    2\.\d{3}\] two\n\[    2\.\d{3}\] \n\[    2\.\d{3}\] begun\n$`); !want.Match(log.Bytes()) {
		t.Errorf("log: got %q", log)
	}
}

func TestExpectGoesOnBehindTheLastMatch(t *testing.T) {
	c, guest, _, _, _ := attached(t)
	ctx, cancel := context.WithTimeoutCause(context.Background(), 200*time.Millisecond, errors.New("late"))
	defer cancel()
	go guest.Write([]byte("login: a\nlogin: b"))
	for _, want := range []string{"a", "b"} {
		got, err := c.Expect(ctx, regexp.MustCompile(`login: (\w)`))
		if err != nil || len(got) != 2 || got[1] != want {
			t.Fatalf("got %q, %v; want login: %s", got, err, want)
		}
	}
	_, err := c.Expect(ctx, regexp.MustCompile(`login: `))
	if err == nil || err.Error() != `wait for "login: " on the console: late; last heard: ""` {
		t.Errorf("got %v; want it late", err)
	}
}

func TestTypeSendsALine(t *testing.T) {
	c, guest, _, _, _ := attached(t)
	got := make([]byte, 3)
	read := make(chan error)
	go func() { _, err := guest.Read(got); read <- err }()
	if err := c.Type("ls"); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil || string(got) != "ls\r" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := NewConsole(&bytes.Buffer{}, nil).Type("ls"); err == nil {
		t.Error("with no machine on: got no error")
	}
}
