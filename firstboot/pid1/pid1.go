// Package pid1 is the first process of a node: it mounts, loads modules, finds the medium, keeps the agent running, reaps, and takes the node down in order.
//
// It does little, so that there is little to go wrong: a PID 1 that ends takes the kernel with it. Whatever can fail with a node still worth having (no
// medium, no module, no agent) is said on the console and gone on from. It is the one place beside internal/host that may use syscalls.
package pid1

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"grove/internal/spec"
)

// first is PID 1 as it runs.
type first struct {
	image    spec.Node
	children *children
	devices  *devices
	searched *os.File        // a pipe that ends when the search for the medium does: the agent waits for it
	down     context.Context // ends when the node goes down
	goDown   context.CancelFunc
	agent    struct {
		sync.Mutex
		pid   int // 0 when it does not run
		ended chan struct{}
	}
}

// Main never returns.
func Main() {
	p := &first{}
	p.down, p.goDown = context.WithCancel(context.Background())
	defer p.crashed()
	orders := listen()
	mounts()
	openConsole()
	loopback()
	p.children = reap()
	say("init", "kernel %s, %d CPUs", release(), runtime.NumCPU())
	p.image = readImage()
	settle(p.image)
	debug.SetGCPercent(50)
	p.devices = watchDevices()
	p.spawn(p.devices.serve)
	searching := p.beginSearch()
	p.spawn(p.keepAgent) // it takes its time to begin, and needs no medium for the network
	p.spawn(func() {
		p.system()
		searching.Close()
		p.devices.modules.system()
	})
	p.spawn(func() { p.devices.buttons(orders) })
	if p.image.Console == "shell" {
		p.spawn(p.keepShell)
	}
	p.stop(<-orders)
}

// spawn runs a part beside the others. A part that panics takes the node down in order.
func (p *first) spawn(part func()) {
	go func() {
		defer p.crashed()
		part()
	}()
}

// crashed says what went wrong here and restarts the node: mongod gets its orderly end, which the kernel's own panic would not give it.
func (p *first) crashed() {
	cause := recover()
	if cause == nil {
		return
	}
	say("init", "BUG: PID 1 stopped: %v; the node restarts in 10 s", cause)
	fmt.Printf("%s\n", debug.Stack())
	time.Sleep(10 * time.Second) // for a person to read it, with nothing left that could be waited for
	if p.children == nil {
		p.children = reap()
	}
	p.stop(order{"restart", "PID 1 stopped working"})
}

// say puts one line on the console.
func say(topic, format string, values ...any) {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	fmt.Println(spec.Line{Uptime: float64(t.Nano()) / 1e9, Topic: topic, Text: fmt.Sprintf(format, values...)})
}

func release() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return err.Error()
	}
	return unix.ByteSliceToString(u.Release[:])
}

func readImage() (n spec.Node) {
	data, err := os.ReadFile("/etc/grove/image.json")
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if err != nil {
		say("init", "this image does not say what it is: %v", err)
	}
	return n
}

// settle sets what every program of the node inherits. Go gives its children the limit of open files that it found at its own start, unless it was set
// by this very call.
func settle(image spec.Node) {
	for _, l := range []struct {
		name  string
		which int
		value uint64
	}{
		{"open files", unix.RLIMIT_NOFILE, 64000}, // MongoDB's manual, "UNIX ulimit settings"
		{"processes", unix.RLIMIT_NPROC, 64000},
		{"locked memory", unix.RLIMIT_MEMLOCK, unix.RLIM_INFINITY},
	} {
		if err := unix.Setrlimit(l.which, &unix.Rlimit{Cur: l.value, Max: l.value}); err != nil {
			say("init", "set the limit of %s to %d: %v", l.name, l.value, err)
		}
	}
	if now := time.Now(); now.Unix() < image.Time {
		t := unix.NsecToTimeval(image.Time * 1e9)
		if err := unix.Settimeofday(&t); err != nil {
			say("init", "set the clock from %s: %v", now.Format(time.DateOnly), err)
		}
	}
	// u-root's own commands go straight to reboot(2), and mongod would not get its orderly end.
	for _, name := range []string{"poweroff", "halt", "reboot", "shutdown"} {
		link := "/bbin/" + name
		_ = os.Remove(link)
		if err := os.Symlink("/init", link); err != nil {
			say("init", "make the command %s: %v", name, err)
		}
	}
}

// loopback brings lo up: the agent asks mongod there.
func loopback() {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	lo, _ := unix.NewIfreq("lo")
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		say("init", "bring the loopback interface up: %v", err)
	}
}

func lines(file string) []string {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return strings.Fields(string(data))
}
