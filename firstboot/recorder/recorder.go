// Package recorder keeps one sample a minute of what a node was busy with, for about a week: what ran and what waited before something went wrong.
//
// Samples are lines of JSON in /state/grove/samples, 8 files of at most 512 KiB, of which the oldest goes when another begins. They are written there 5 at a time, to
// spare a card's flash, and lie in RAM until then, where a new agent finds them; a loss of power costs those 5 minutes. Nothing is synced, so the end of a file may be
// lost or torn: a line that is none is passed over. Without a state partition only the last hours are kept, in RAM.
//
// A node may not know the date. Each sample has the uptime and the boot that it is of beside the time; times are set right by what is known of the boot's begin since.
package recorder

import (
	"cmp"
	"context"
	"sync"
	"time"

	"grove/firstboot/counters"
)

// Node is what the recorder needs of the agent.
type Node interface {
	Say(format string, values ...any)
	Problem(about, sentence string) (news bool)
}

// Config of a recorder. Root stands before each path of the node.
type Config struct {
	Root   string
	State  bool // the state partition is mounted
	Now    func() time.Time
	Uptime func() float64 // seconds since the kernel's start
	Node   Node
}

// Recorder takes and keeps samples.
type Recorder struct {
	config Config
	kernel counters.Kernel
	boot   string
	look   looker

	mu    sync.Mutex
	store store
	ring  []Point // of the last day, the oldest first
}

// The rhythm.
const (
	every = time.Minute
	batch = 5 // samples that are written at once
)

// New reads what was kept before.
func New(c Config) *Recorder {
	r := &Recorder{config: c, kernel: counters.Kernel{Root: c.Root}}
	r.boot = r.kernel.Line("/proc/sys/kernel/random/boot_id")
	r.boot = cmp.Or(r.boot[:min(len(r.boot), 8)], "unknown")
	r.store = store{ram: c.Root + "/run/grove/samples"}
	if c.State {
		r.store.dir = c.Root + "/state/grove/samples"
	}
	r.store.open(r.boot)
	files := r.store.files()
	r.store.each(files[max(0, len(files)-filesOfDay):], r.remember)
	return r
}

// Keep takes samples until ctx ends, and writes down what is left then.
func (r *Recorder) Keep(ctx context.Context) {
	r.look.first(r.kernel, r.config.Uptime())
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			r.mu.Lock()
			r.tell(r.store.flush())
			r.mu.Unlock()
			return
		case <-tick.C:
			r.take()
		}
	}
}

func (r *Recorder) take() {
	s := r.look.sample(r.kernel, r.config.Uptime())
	s.Time, s.Boot = r.config.Now().Unix(), r.boot
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remember(s)
	r.tell(r.store.add(s))
}

// tell says that samples can't be written, and that they can be again, each once.
func (r *Recorder) tell(err error) {
	sentence := ""
	if err != nil {
		sentence = err.Error() + "; the newest samples are kept in RAM"
	}
	if r.config.Node.Problem("recorder", sentence) && err != nil {
		r.config.Node.Say("%s", sentence)
	}
}
