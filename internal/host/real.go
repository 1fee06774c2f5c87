package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Real is the machine itself.
type Real struct{}

func (Real) prepare(ctx context.Context, c Command) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Stdin, c.Stdout, c.Stderr
	cmd.Env = append([]string{}, c.Env...) // not nil, which would mean the whole environment
	if !c.Clean {
		cmd.Env = append(os.Environ(), c.Env...)
	}
	// A group of its own: Ctrl-C on the terminal reaches Grove, which then ends its programs in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Run see Host.
func (r Real) Run(ctx context.Context, c Command) ([]byte, error) {
	cmd := r.prepare(ctx, c)
	var out, all bytes.Buffer
	if c.Stdout == nil {
		cmd.Stdout = &out
	}
	if c.Stderr == nil {
		cmd.Stderr = &all
	}
	runtime.LockOSThread() // see Start
	err := cmd.Run()
	runtime.UnlockOSThread()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		printed := strings.TrimSpace(all.String())
		if printed == "" {
			printed = strings.TrimSpace(out.String())
		}
		return nil, &Exit{Command: c.String(), Code: exit.ExitCode(), Output: tail(printed, 2048)}
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", c.Path, err)
	}
	return out.Bytes(), nil
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + s[len(s)-n:]
}

type process struct {
	cmd   *exec.Cmd
	ended chan error
}

func (p process) PID() int                 { return p.cmd.Process.Pid }
func (p process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }
func (p process) Wait() error              { return <-p.ended }

// Start see Host. Linux sends the death signal when the thread that started the program ends, not its process (prctl(2), PR_SET_PDEATHSIG): the program gets
// a thread that stays as long as it does.
func (r Real) Start(ctx context.Context, c Command) (Process, error) {
	p := process{cmd: r.prepare(ctx, c), ended: make(chan error, 1)}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.ended <- p.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return p, nil
}

// Look see Host.
func (Real) Look(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// Lock see Host.
func (Real) Lock(ctx context.Context, path string, waiting func()) (func(), error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if first && waiting != nil {
			waiting()
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for the lock %s: %w", path, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Free see Host.
func (Real) Free(path string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, fmt.Errorf("free room of %s: %w", path, err)
	}
	return int64(s.Bavail) * int64(s.Bsize), nil // Bsize is 32 bits wide on 32-bit machines
}

// Extents see Host.
func (Real) Extents(f *os.File) ([]Extent, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var found []Extent
	for pos := int64(0); pos < info.Size(); {
		start, err := unix.Seek(int(f.Fd()), pos, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break
		}
		if errors.Is(err, unix.EINVAL) {
			return []Extent{{0, info.Size()}}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("find data of %s: %w", f.Name(), err)
		}
		end, err := unix.Seek(int(f.Fd()), start, unix.SEEK_HOLE)
		if err != nil {
			return nil, fmt.Errorf("find holes of %s: %w", f.Name(), err)
		}
		found = append(found, Extent{start, end - start})
		pos = end
	}
	return found, nil
}
