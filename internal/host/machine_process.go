package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Spawn see Machine.
func (Real) Spawn(d Daemon) (Running, error) {
	in, err := os.Open(os.DevNull)
	if err != nil {
		return Running{}, err
	}
	defer in.Close()
	out, err := os.OpenFile(d.Output, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return Running{}, err
	}
	defer out.Close()
	var pid int
	err = withLimits(d.Limits, func() (err error) {
		pid, err = syscall.ForkExec(d.Path, append([]string{d.Path}, d.Args...), &syscall.ProcAttr{
			Dir: "/", Env: d.Env, Files: []uintptr{in.Fd(), out.Fd(), out.Fd()},
			Sys: &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uint32(d.UID), Gid: uint32(d.GID)}},
		})
		return err
	})
	if err != nil {
		return Running{}, fmt.Errorf("start %s: %w", d.Path, err)
	}
	// Best effort: whoever wants a daemon kept does not want it ended over this.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), strconv.AppendInt(nil, int64(d.OOMScore), 10), 0)
	start, err := started(pid)
	if err != nil {
		start = 0 // it has ended already, and waits to be reaped: Wait takes 0 for any start
	}
	return Running{pid, start}, nil
}

// Wait see Machine.
func (Real) Wait(ctx context.Context, p Running) (string, error) {
	fd, err := open(p)
	if err != nil {
		return "", err
	}
	if fd != nil {
		defer fd.Close()
		if err := readable(ctx, fd); err != nil {
			return "", err
		}
	}
	var status syscall.WaitStatus
	for {
		pid, err := syscall.Wait4(p.PID, &status, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err == syscall.ECHILD || pid == 0:
			return "", nil
		case err != nil:
			return "", fmt.Errorf("wait for process %d: %w", p.PID, err)
		default:
			return How(status), nil
		}
	}
}

// open gives a pidfd of exactly this process, nil when it is gone.
func open(p Running) (*os.File, error) {
	fd, err := unix.PidfdOpen(p.PID, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("watch process %d: %w", p.PID, err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	if start, err := started(p.PID); p.Start != 0 && (err != nil || start != p.Start) {
		f.Close()
		return nil, nil
	}
	return f, nil
}

// readable waits for the end of the process, of which poll(2) says that its pidfd is readable.
func readable(ctx context.Context, pidfd *os.File) error {
	conn, err := pidfd.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { pidfd.Close() })
	defer stop()
	err = conn.Read(func(fd uintptr) bool {
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(polled, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// How says how a process ended: `exit code 14`, `signal killed`.
func How(s syscall.WaitStatus) string {
	if s.Signaled() {
		return "signal " + s.Signal().String()
	}
	return fmt.Sprintf("exit code %d", s.ExitStatus())
}

// Terminate see Machine.
func (Real) Terminate(p Running) error { return send(p, unix.SIGTERM) }

// ReopenLog see Machine.
func (Real) ReopenLog(p Running) error { return send(p, unix.SIGUSR1) }

// Kill see Machine.
func (Real) Kill(p Running) error { return send(p, unix.SIGKILL) }

func send(p Running, s unix.Signal) error {
	fd, err := open(p)
	if err != nil || fd == nil {
		return err
	}
	defer fd.Close()
	if err := unix.PidfdSendSignal(int(fd.Fd()), s, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("send %v to process %d: %w", s, p.PID, err)
	}
	return nil
}
