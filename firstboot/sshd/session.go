package sshd

import (
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"grove/internal/host"
)

// Mark stands in the environment of every program that was started over SSH, so that those which outlive their agent can be found.
const Mark = "GROVE_SESSION=ssh"

// session is one shell or one command: RFC 4254, 6.
type session struct {
	server  *Server
	channel ssh.Channel
	env     []string
	window  *host.Window // of the terminal that was asked for
	talk    host.Talk    // once it runs
	ended   chan struct{}
}

// hung is how long a program may take to end that was told that its client is gone.
const hung = 2 * time.Second

func (s *Server) session(ctx context.Context, conn ssh.Conn, asked ssh.NewChannel) {
	channel, requests, err := asked.Accept()
	if err != nil {
		return // the connection is gone
	}
	defer channel.Close()
	x := &session{server: s, channel: channel, ended: make(chan struct{}), env: append([]string{Mark, "SSH_CONNECTION=" + line(conn)}, s.Env...)}
	for {
		select {
		case r, more := <-requests:
			if !more {
				x.hangUp()
				return
			}
			x.answer(r)
		case <-ctx.Done():
			x.hangUp()
			return
		case <-x.ended:
			return
		}
	}
}

// line is what ssh(1) says that OpenSSH tells programs of their connection.
func line(conn ssh.Conn) string {
	there, thatPort, _ := net.SplitHostPort(conn.RemoteAddr().String())
	here, port, _ := net.SplitHostPort(conn.LocalAddr().String())
	return strings.Join([]string{there, thatPort, here, port}, " ")
}

// answer does what one request asks for. What it does not know (subsystems, agents, X11) gets no.
func (x *session) answer(r *ssh.Request) {
	done, begin := false, func() {}
	switch r.Type {
	case "env":
		done = x.setenv(r.Payload)
	case "pty-req":
		done = x.terminal(r.Payload)
	case "window-change":
		done = x.resize(r.Payload)
	case "signal":
		var p struct{ Name string }
		done = ssh.Unmarshal(r.Payload, &p) == nil && x.talk != nil && x.talk.Signal(p.Name) == nil
	case "shell", "exec":
		done, begin = x.start(r)
	}
	if r.WantReply {
		_ = r.Reply(done, nil)
	}
	begin() // whose first words come behind the reply
}

// locale is what a client may set: the language, for programs that have more than one.
var locale = regexp.MustCompile(`^(LANG|LC_[A-Z]+)$`)

func (x *session) setenv(payload []byte) bool {
	var p struct{ Name, Value string }
	if ssh.Unmarshal(payload, &p) != nil || !locale.MatchString(p.Name) || len(p.Value) > 100 || len(x.env) > 40 {
		return false
	}
	x.env = append(x.env, p.Name+"="+p.Value)
	return true
}

func (x *session) terminal(payload []byte) bool {
	var p struct {
		Term                         string
		Columns, Rows, Width, Height uint32
		Modes                        string
	}
	if x.window != nil || x.talk != nil || ssh.Unmarshal(payload, &p) != nil {
		return false
	}
	x.window = window(p.Columns, p.Rows)
	x.env = append(x.env, "TERM="+p.Term)
	return true
}

func (x *session) resize(payload []byte) bool {
	var p struct{ Columns, Rows, Width, Height uint32 }
	if x.window == nil || ssh.Unmarshal(payload, &p) != nil {
		return false
	}
	x.window = window(p.Columns, p.Rows)
	return x.talk == nil || x.talk.Resize(*x.window) == nil
}

// window has the kernel's bounds, of 16 bits.
func window(columns, rows uint32) *host.Window {
	const most = 1<<16 - 1
	return &host.Window{Columns: int(min(columns, most)), Rows: int(min(rows, most))}
}

// start starts the shell, once. begin carries what is said both ways, and sends the exit code at the end.
func (x *session) start(r *ssh.Request) (done bool, begin func()) {
	var p struct{ Command string }
	if x.talk != nil || r.Type == "exec" && ssh.Unmarshal(r.Payload, &p) != nil {
		return false, func() {}
	}
	program := host.Interactive{Path: x.server.Shell, Env: x.env, Dir: x.server.Home, Terminal: x.window}
	if r.Type == "exec" {
		program.Args = []string{"-c", p.Command}
	}
	talk, err := x.server.Talks.StartInteractive(program)
	if err != nil {
		return true, func() {
			fmt.Fprintln(x.channel.Stderr(), err)
			x.end(127, "")
		}
	}
	x.talk = talk
	return true, func() { go x.carry() }
}

func (x *session) carry() {
	go func() {
		_, _ = io.Copy(x.talk.Input(), x.channel)
		_ = x.talk.Input().Close()
	}()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(x.channel, x.talk.Output()) })
	both.Go(func() { _, _ = io.Copy(x.channel.Stderr(), x.talk.Errors()) })
	code, signal := x.talk.Wait()
	both.Wait()
	_ = x.talk.Close()
	x.end(code, signal)
}

// end tells the client how the program ended.
func (x *session) end(code int, signal string) {
	_ = x.channel.CloseWrite()
	if signal != "" {
		_, _ = x.channel.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Name           string
			Core           bool
			Error, Langtag string
		}{Name: signal}))
	} else {
		_, _ = x.channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(code)}))
	}
	_ = x.channel.Close()
	close(x.ended)
}

// hangUp ends the program of a client that is gone, with all that it has started and that minds.
func (x *session) hangUp() {
	if x.talk == nil {
		return
	}
	_ = x.channel.Close() // so that nobody waits to be listened to
	for _, signal := range []string{"HUP", "KILL"} {
		_ = x.talk.Signal(signal)
		select {
		case <-x.ended:
			return
		case <-time.After(hung): // after KILL: the kernel itself is stuck with it
		}
	}
}
