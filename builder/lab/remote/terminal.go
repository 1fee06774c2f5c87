package remote

import (
	"context"
	"io"
	"time"

	"golang.org/x/crypto/ssh"
)

// Person is who sits at this end. Size gives the terminal's columns and rows, and is nil where there is no terminal.
type Person struct {
	In       io.Reader
	Out, Err io.Writer
	Term     string // xterm-256color
	Size     func() (columns, rows int)
}

// resized is how often the terminal's size is looked at.
const resized = 250 * time.Millisecond

// Talk runs a command for a person, or a shell if it is empty, and gives the exit code, as Command does.
func Talk(ctx context.Context, client *ssh.Client, command string, p Person) (code int, err error) {
	session, err := client.NewSession()
	if err != nil {
		return 0, err
	}
	defer session.Close()
	stop := context.AfterFunc(ctx, func() { client.Close() })
	defer stop()
	session.Stdout, session.Stderr = p.Out, p.Err
	in, err := session.StdinPipe() // not Stdin, whose end Wait would wait for
	if err != nil {
		return 0, err
	}
	if p.Size != nil {
		columns, rows := p.Size()
		if err := session.RequestPty(p.Term, rows, columns, ssh.TerminalModes{}); err != nil {
			return 0, err
		}
		watching, done := context.WithCancel(ctx)
		defer done()
		go follow(watching, session, p.Size, columns, rows)
	}
	if command == "" {
		err = session.Shell()
	} else {
		err = session.Start(command)
	}
	if err != nil {
		return 0, err
	}
	go func() {
		_, _ = io.Copy(in, p.In)
		_ = in.Close()
	}()
	code, err = ended(session.Wait())
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return code, err
}

// follow tells the node of a window that changes.
func follow(ctx context.Context, session *ssh.Session, size func() (columns, rows int), columns, rows int) {
	ticks := time.NewTicker(resized)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if c, r := size(); c != columns || r != rows {
			columns, rows = c, r
			_ = session.WindowChange(rows, columns)
		}
	}
}
