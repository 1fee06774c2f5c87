package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"grove/internal/size"
)

// FakeMachine is a node that lives in memory and prints itself as text. Its processes do nothing and end when End, Terminate or Kill is called; MakeDir
// makes folders without owners, so that plain files work under them.
type FakeMachine struct {
	RAM     size.Size
	Broken  map[string]error    // what goes wrong, by the Source of a Mount or the Path of a Daemon
	Spawned func(Running)       // called after each start, if not nil
	Reopens func(Running) error // what a process does when it is told to open its log again; nothing, if nil

	Programs func(Command) (output string, err error) // what a program does that Run runs; nothing, if nil
	Taken    map[string]bool                          // devices that somebody has for themselves, beside those that are mounted
	NVMe     map[string][]byte                        // what the controller of a device says of itself

	Root    string            // where /proc/self/mountinfo (proc(5)) is kept, if not empty; mounts lie below it
	Numbers map[string]string // major and minor number of a mount's source in it: 254:16

	Clock pretendedClock

	loaded []string // modules
	swaps  []string

	mu        sync.Mutex
	once      sync.Once
	begin     time.Time
	leave     chan struct{}
	stop      chan struct{}
	hostname  string
	folders   map[string]string
	mounts    []Mount
	resized   []string
	processes []*pretended
}

type pretended struct {
	Running
	daemon Daemon
	own    bool // child of the agent that runs now
	ended  chan struct{}
	how    string
}

var _ Machine = &FakeMachine{}

func (f *FakeMachine) lock() func() {
	f.once.Do(func() {
		f.begin, f.leave, f.stop, f.folders = time.Now(), make(chan struct{}), make(chan struct{}), map[string]string{}
	})
	f.mu.Lock()
	return f.mu.Unlock
}

// String lists what is, a line each, in the order of coming.
func (f *FakeMachine) String() string {
	defer f.lock()()
	var b strings.Builder
	fmt.Fprintf(&b, "hostname %s\n", f.hostname)
	for _, m := range f.mounts {
		fmt.Fprintf(&b, "mount %s on %s type %s read-only %v\n", m.Source, m.Target, m.Type, m.ReadOnly)
	}
	for _, path := range slices.Sorted(maps.Keys(f.folders)) {
		fmt.Fprintf(&b, "folder %s %s\n", path, f.folders[path])
	}
	for _, line := range slices.Concat(f.resized, f.loaded, f.swaps) {
		fmt.Fprintln(&b, line)
	}
	for _, p := range f.processes {
		state := "runs"
		if p.how != "" {
			state = "ended: " + p.how
		}
		fmt.Fprintf(&b, "process %d %s uid %d %s\n", p.PID, strings.Join(append([]string{p.daemon.Path}, p.daemon.Args...), " "), p.daemon.UID, state)
	}
	return b.String()
}

// Restart is the agent's end and new start: processes go on and are no longer its children.
func (f *FakeMachine) Restart() {
	defer f.lock()()
	f.leave, f.stop = make(chan struct{}), make(chan struct{})
	for _, p := range f.processes {
		p.own = false
	}
}

// Leave and Stop are PID 1's requests.
func (f *FakeMachine) Leave() { defer f.lock()(); close(f.leave) }

// Stop see Leave.
func (f *FakeMachine) Stop() { defer f.lock()(); close(f.stop) }

// End lets a process end this way.
func (f *FakeMachine) End(pid int, how string) {
	defer f.lock()()
	for _, p := range f.processes {
		if p.PID == pid && p.how == "" {
			p.how = how
			close(p.ended)
		}
	}
}

// Told see Machine.
func (f *FakeMachine) Told() (leave, stop <-chan struct{}) { defer f.lock()(); return f.leave, f.stop }

// Uptime see Machine.
func (f *FakeMachine) Uptime() time.Duration { defer f.lock()(); return time.Since(f.begin) }

// Memory see Machine.
func (f *FakeMachine) Memory() (size.Size, error) { return f.RAM, nil }

// SetHostname see Machine.
func (f *FakeMachine) SetHostname(name string) error { defer f.lock()(); f.hostname = name; return nil }

// MakeDir see Machine.
func (f *FakeMachine) MakeDir(path string, mode os.FileMode, uid, gid int) error {
	defer f.lock()()
	f.folders[path] = fmt.Sprintf("%v %d:%d", mode, uid, gid)
	return os.MkdirAll(path, 0o755)
}

// WriteFor see Machine. The owner is only printed.
func (f *FakeMachine) WriteFor(path string, data []byte, uid, gid int) error {
	defer f.lock()()
	f.folders[path] = fmt.Sprintf("-r-------- %d:%d", uid, gid)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// Mount see Machine.
func (f *FakeMachine) Mount(m Mount) error {
	defer f.lock()()
	if err := f.Broken[m.Source]; err != nil {
		return fmt.Errorf("mount %s on %s as %s: %w", m.Source, m.Target, m.Type, err)
	}
	f.mounts = append(f.mounts, m)
	return f.listMounts()
}

func (f *FakeMachine) listMounts() error {
	if f.Root == "" {
		return nil
	}
	text := "1 1 0:2 / / rw - rootfs rootfs rw\n"
	for n, m := range f.mounts {
		text += fmt.Sprintf("%d 1 %s / %s rw - %s %s rw\n", n+2, f.Numbers[m.Source], strings.TrimPrefix(m.Target, f.Root), m.Type, m.Source)
	}
	return os.WriteFile(f.Root+"/proc/self/mountinfo", []byte(text), 0o600)
}

// Unmount see Machine.
func (f *FakeMachine) Unmount(target string) error {
	defer f.lock()()
	before := len(f.mounts)
	f.mounts = slices.DeleteFunc(f.mounts, func(m Mount) bool { return m.Target == target })
	if len(f.mounts) == before {
		return fmt.Errorf("unmount %s: %w", target, errors.New("not mounted"))
	}
	return f.listMounts()
}

// Mounted see Machine.
func (f *FakeMachine) Mounted(target string) (string, bool) {
	defer f.lock()()
	for _, m := range f.mounts {
		if m.Target == target {
			return m.Source, true
		}
	}
	return "", false
}

// Space see Machine.
func (f *FakeMachine) Space(string) (total, free size.Size, err error) {
	return 8 * size.GiB, 7 * size.GiB, nil
}

// ResizePartition see Machine.
func (f *FakeMachine) ResizePartition(disk string, number int, start, length size.Size) error {
	defer f.lock()()
	f.resized = append(f.resized, fmt.Sprintf("partition %d resized: from %s, %s", number, start, length))
	return nil
}

// ResizeExt4 see Machine.
func (f *FakeMachine) ResizeExt4(mounted string, blocks int64) error {
	defer f.lock()()
	f.resized = append(f.resized, fmt.Sprintf("ext4 on %s resized: %d blocks", mounted, blocks))
	return nil
}

// Spawn see Machine.
func (f *FakeMachine) Spawn(d Daemon) (Running, error) {
	unlock := f.lock()
	if err := f.Broken[d.Path]; err != nil {
		defer unlock()
		return Running{}, fmt.Errorf("start %s: %w", d.Path, err)
	}
	p := &pretended{Running: Running{100 + len(f.processes), uint64(time.Since(f.begin) / (10 * time.Millisecond))}, daemon: d, own: true, ended: make(chan struct{})}
	f.processes = append(f.processes, p)
	unlock()
	if f.Spawned != nil {
		f.Spawned(p.Running)
	}
	return p.Running, nil
}

// Find see Machine.
func (f *FakeMachine) Find(path string, args ...string) (found []Running) {
	defer f.lock()()
	for _, p := range f.processes {
		if p.how == "" && p.daemon.Path == path && slices.Equal(p.daemon.Args, args) {
			found = append(found, p.Running)
		}
	}
	return found
}

// Wait see Machine.
func (f *FakeMachine) Wait(ctx context.Context, r Running) (string, error) {
	unlock := f.lock()
	at := slices.IndexFunc(f.processes, func(p *pretended) bool { return p.Running == r })
	if at < 0 {
		unlock()
		return "", nil
	}
	p := f.processes[at]
	unlock()
	select {
	case <-p.ended:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if !p.own {
		return "", nil
	}
	return p.how, nil
}

// Terminate see Machine. The fake's processes end in order at once.
func (f *FakeMachine) Terminate(r Running) error { f.End(r.PID, "exit code 0"); return nil }

// ReopenLog see Machine.
func (f *FakeMachine) ReopenLog(r Running) error {
	if f.Reopens == nil {
		return nil
	}
	return f.Reopens(r)
}

// Kill see Machine.
func (f *FakeMachine) Kill(r Running) error { f.End(r.PID, "signal killed"); return nil }

// Resident see Machine.
func (f *FakeMachine) Resident(int) size.Size { return 10 * size.MiB }
