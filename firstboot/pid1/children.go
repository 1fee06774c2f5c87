package pid1

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"grove/firstboot/status"
	"grove/internal/host"
)

// children are all processes: those that PID 1 has started, and those whose parents have died.
type children struct {
	mu      sync.Mutex
	mine    map[int]chan string
	orphans []string
	none    chan struct{} // something is received whenever no child is left
}

// reap takes in whatever ends, from now on. Nothing else in PID 1 may wait for a process.
func reap() *children {
	c := &children{mine: map[int]chan string{}, none: make(chan struct{}, 1)}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	go func() {
		for range ended {
			c.collect()
		}
	}()
	return c
}

func (c *children) collect() {
	for {
		var s syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &s, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			select {
			case c.none <- struct{}{}:
			default:
			}
			return
		case pid == 0:
			return
		default:
			c.ended(pid, host.How(s))
		}
	}
}

func (c *children) ended(pid int, how string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if tell, mine := c.mine[pid]; mine {
		delete(c.mine, pid)
		tell <- how
		return
	}
	const kept = 16
	c.orphans = append(c.orphans, fmt.Sprintf("%d %s\n", pid, how))
	c.orphans = c.orphans[max(0, len(c.orphans)-kept):]
	_ = status.Replace(status.Reaped, []byte(strings.Join(c.orphans, "")))
}

// start runs a program; how it ended comes once through the channel.
func (c *children) start(path string, args []string, files []uintptr, sys *syscall.SysProcAttr) (pid int, how <-chan string, err error) {
	c.mu.Lock() // it may end before it is in the map
	defer c.mu.Unlock()
	env := []string{"PATH=/bbin:/usr/sbin:/usr/bin", "HOME=/root", "TERM=dumb"}
	pid, err = syscall.ForkExec(path, args, &syscall.ProcAttr{Dir: "/", Env: env, Files: files, Sys: sys})
	if err != nil {
		return 0, nil, fmt.Errorf("start %s: %w", path, err)
	}
	tell := make(chan string, 1)
	c.mine[pid] = tell
	return pid, tell, nil
}
