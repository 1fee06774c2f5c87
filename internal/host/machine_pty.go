package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Interactive is a program for a person at the other end of a connection. It leads a session of its own; when the agent ends, it is hung up.
type Interactive struct {
	Path     string
	Args     []string // without the program's own name
	Env      []string // all of it
	Dir      string
	Terminal *Window // nil: three pipes
}

// Window is a terminal's, in characters.
type Window struct{ Columns, Rows int }

// Talk is such a program under way. Input, Output and Errors may be used at the same time; at a terminal, Errors has nothing.
type Talk interface {
	PID() int
	Input() io.WriteCloser // its end is the program's end of file
	// Output ends once the program has ended and, for a moment, nothing more came of what it has left running.
	Output() io.Reader
	Errors() io.Reader
	Resize(Window) error
	// Signal sends a signal to all its processes, by a name such as INT; one that has ended gets none.
	Signal(name string) error
	// Wait gives its exit code, or the name of the signal that ended it.
	Wait() (code int, signal string)
	Close() error // lets go of all three, after which a program at the terminal is hung up
}

// Talks is how programs for persons are run.
type Talks interface {
	StartInteractive(i Interactive) (Talk, error)
	// Marked gives the processes whose environment has an entry, such as NAME=value.
	Marked(entry string) []Running
	// HangUp tells a process that its terminal or connection is gone; one that was started not to mind goes on.
	HangUp(p Running) error
}

type talk struct {
	cmd          *exec.Cmd
	terminal     *os.File // nil with pipes
	pipes        []*os.File
	input        io.WriteCloser
	output, errs *outlet
	ended        chan struct{}

	mu   sync.Mutex
	gone bool // reaped: its number may be another's
}

// StartInteractive see Talks.
func (Real) StartInteractive(i Interactive) (Talk, error) {
	t := &talk{cmd: exec.Command(i.Path, i.Args...), ended: make(chan struct{})}
	t.cmd.Env, t.cmd.Dir = append([]string{}, i.Env...), i.Dir
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGHUP}
	theirs, err := t.connect(i.Terminal)
	if err == nil {
		err = t.start()
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("start %s: %w", i.Path, err)
	}
	return t, nil
}

// connect makes both ends of what the program speaks through, and gives the program's.
func (t *talk) connect(w *Window) (theirs []*os.File, err error) {
	if w != nil {
		if t.terminal, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
			return nil, err
		}
		t.output, t.errs, t.input = &outlet{file: t.terminal}, &outlet{}, keyboard{t.terminal}
		slave, err := t.slave()
		if err != nil {
			return nil, err
		}
		t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = slave, slave, slave
		t.cmd.SysProcAttr.Setctty = true // of its file 0
		return []*os.File{slave}, t.Resize(*w)
	}
	var near, far [3]*os.File
	for n := range near {
		read, write, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		if near[n], far[n] = read, write; n == 0 {
			near[n], far[n] = write, read
		}
		t.pipes, theirs = append(t.pipes, near[n]), append(theirs, far[n])
	}
	t.input, t.output, t.errs = near[0], &outlet{file: near[1]}, &outlet{file: near[2]}
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = far[0], far[1], far[2]
	return theirs, nil
}

// slave opens the program's end of the terminal: pts(4). Through SyscallConn, as Fd would make the file block.
func (t *talk) slave() (*os.File, error) {
	var number uint32
	err := control(t.terminal, func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		number, err = unix.IoctlGetUint32(fd, unix.TIOCGPTN)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("unlock a terminal: %w", err)
	}
	return os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|unix.O_NOCTTY, 0)
}

func control(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	if outer := conn.Control(func(fd uintptr) { err = do(int(fd)) }); outer != nil {
		return outer
	}
	return err
}

// start gives the program a thread that stays as long as it does, see Real.Start.
func (t *talk) start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := t.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = waitOnly(t.cmd.Process.Pid)
		t.mu.Lock()
		_ = t.cmd.Wait()
		t.gone = true
		t.mu.Unlock()
		t.output.drain()
		t.errs.drain()
		close(t.ended)
	}()
	return <-started
}

// waitOnly waits for a child's end and leaves it to be reaped.
func waitOnly(pid int) error {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return err
		}
	}
}

func (t *talk) PID() int              { return t.cmd.Process.Pid }
func (t *talk) Input() io.WriteCloser { return t.input }
func (t *talk) Output() io.Reader     { return t.output }
func (t *talk) Errors() io.Reader     { return t.errs }

// Resize see Talk.
func (t *talk) Resize(w Window) error {
	if t.terminal == nil {
		return errors.New("resize: it has no terminal")
	}
	size := unix.Winsize{Col: uint16(w.Columns), Row: uint16(w.Rows)}
	return control(t.terminal, func(fd int) error { return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size) })
}

// Signal see Talk.
func (t *talk) Signal(name string) error {
	s := unix.SignalNum("SIG" + name)
	if s == 0 {
		return fmt.Errorf("signal: none is called %q", name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return nil
	}
	return unix.Kill(-t.cmd.Process.Pid, s)
}

// Wait see Talk.
func (t *talk) Wait() (code int, signal string) {
	<-t.ended
	s := t.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if s.Signaled() {
		return -1, strings.TrimPrefix(unix.SignalName(s.Signal()), "SIG")
	}
	return s.ExitStatus(), ""
}

// Close see Talk.
func (t *talk) Close() error {
	if t.terminal != nil {
		return t.terminal.Close()
	}
	var all error
	for _, f := range t.pipes {
		all = errors.Join(all, f.Close())
	}
	return all
}
