// Package tuner is the agent's part in tuning: the system's values once the node's settings are known, each disk's when the data is mounted and whenever other disks are under it,
// mongod's own as it starts; then it reads what mongod has to say of it. All of that stands on the page, and what is not as it should be on the console too.
package tuner

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"grove/firstboot/mongod/warning"
	"grove/firstboot/status"
	"grove/firstboot/tuning"
	"grove/internal/host"
	"grove/internal/mongoconf"
	"grove/internal/spec"
)

// Node is the agent around it.
type Node interface {
	Say(format string, values ...any) // a line on the console, about tuning
	Page(change func(*status.Status))
	Status() status.Status
	Problem(about, sentence string) (news bool)
}

// Site is a node with its settings. Root stands before every path, empty but in tests.
type Site struct {
	Root     string
	Image    spec.Node
	Arch     spec.Arch
	Node     Node
	Warnings func(ctx context.Context, port int, log string) ([]string, error) // of the server, each in one text

	mu     sync.Mutex
	about  tuning.About
	mounts []string // of the data
	log    string
	pid    int
	before []status.Tuned // of an earlier agent
	served chan int       // the port
}

// Open comes first.
func (s *Site) Open() {
	s.served, s.before = make(chan int, 1), s.Node.Status().Tuning.Values
	kernel, _ := os.ReadFile(s.Root + "/proc/sys/kernel/osrelease")
	s.about = tuning.About{Profile: "none", Version: s.Image.Mongod.Version, Arch: s.Arch, Kernel: strings.TrimSpace(string(kernel))}
}

// System sets what needs no disk.
func (s *Site) System(t spec.Tuning) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.Profile != "" {
		s.about.Profile = t.Profile
	}
	s.about.Sysctl = t.Sysctl
	s.apply()
	line := s.sum()
	if differs := tuning.Differs(s.about); len(differs) > 0 {
		line += fmt.Sprintf("; %d values are not those of MongoDB's advice", len(differs))
	}
	s.Node.Say("%s", line)
}

// sum is a line about all of it: `mongodb: 14 set, 3 so before, 2 that this kernel lacks`.
func (s *Site) sum() string {
	count := map[string]int{}
	for _, v := range s.Node.Status().Tuning.Values {
		count[v.State]++
	}
	line := fmt.Sprintf("%s: %d set, %d so before", s.about.Profile, count["set"], count["same"])
	for _, more := range []struct{ state, words string }{{"absent", "that this kernel lacks"}, {"refused", "refused"}, {"waits", "wait for mongod"}} {
		if n := count[more.state]; n > 0 {
			line += fmt.Sprintf(", %d %s", n, more.words)
		}
	}
	return line
}

// Data sets each disk's values, before mongod reads from them.
func (s *Site) Data(at mongoconf.Places) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log, s.mounts = s.Root+at.Log, at.Mounted
	if len(s.mounts) == 0 {
		s.mounts = []string{"/state"}
	}
	if s.look() {
		s.apply()
		s.Node.Say("%s", s.disks())
	}
}

// look says whether there are other disks than before.
func (s *Site) look() (news bool) {
	devices, err := tuning.Devices(s.Root, s.mounts)
	if err != nil {
		if s.Node.Problem("tuning disks", err.Error()) {
			s.Node.Say("%v", err)
		}
		return false
	}
	s.Node.Problem("tuning disks", "")
	news = !reflect.DeepEqual(devices, s.about.Devices)
	s.about.Devices = devices
	return news
}

func (s *Site) disks() string {
	var names []string
	for _, d := range s.about.Devices {
		names = append(names, d.Name)
	}
	return "read-ahead and scheduler of " + strings.Join(names, ", ") + ": " + s.sum()
}

// apply sets all that is to be set, again if need be, and shows it.
func (s *Site) apply() {
	values := tuning.Want(s.about)
	tuned := tuning.Apply(s.Root, values, s.pid, slices.Concat(s.Node.Status().Tuning.Values, s.before))
	s.Node.Page(func(now *status.Status) {
		now.Tuning.Profile, now.Tuning.Values, now.Tuning.Differs = s.about.Profile, tuned, tuning.Differs(s.about)
	})
	problems := tuning.Problems(values, tuned)
	if s.Node.Problem("tuning", strings.Join(problems, "; ")) {
		for _, p := range problems {
			s.Node.Say("%s", p)
		}
	}
}

// Daemon is mongod with its limits and its environment.
func (s *Site) Daemon(d host.Daemon) host.Daemon {
	s.mu.Lock()
	defer s.mu.Unlock()
	limits, env := tuning.Start(tuning.Want(s.about))
	d.Limits, d.Env = append(d.Limits, limits...), append(slices.Clip(d.Env), env...)
	return d
}

// Runs looks at the limits that mongod has, started now or taken over.
func (s *Site) Runs(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pid = pid
	s.apply()
}

// Serves has mongod's warnings read, by Keep.
func (s *Site) Serves(port int) {
	select {
	case s.served <- port:
	default: // it is about to be asked
	}
}

// looksAgain is how often the disks under the data are looked at, some ten files of /sys.
const looksAgain = 15 * time.Second

// Keep sets the values of disks that come later, and reads mongod's warnings, until ctx ends.
func (s *Site) Keep(ctx context.Context) {
	again := time.NewTicker(looksAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case port := <-s.served:
			s.heed(ctx, port)
		case <-again.C:
			s.mu.Lock()
			if s.look() {
				s.apply()
				s.Node.Say("%s", s.disks())
			}
			s.mu.Unlock()
		}
	}
}

// heed reads the warnings and says what they mean. Of a mongod that was taken over, whose log may have been rotated since, the page knows them from before.
func (s *Site) heed(ctx context.Context, port int) {
	texts, err := s.Warnings(ctx, port, s.log)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		if s.Node.Problem("warnings", err.Error()) {
			s.Node.Say("%v", err)
		}
		return
	}
	warnings := warning.Explain(texts, s.why())
	s.Node.Page(func(now *status.Status) { now.Tuning.Warnings = warnings })
	var problems []string
	for _, w := range warnings {
		line := "mongod warns: " + w.Text
		if w.Explanation != "" {
			line += ": " + w.Explanation
		}
		if w.Kind != warning.Explained {
			problems = append(problems, line)
		}
		s.Node.Say("%s", line)
	}
	s.Node.Problem("warnings", strings.Join(problems, "; "))
}

func (s *Site) why() warning.About {
	s.mu.Lock()
	defer s.mu.Unlock()
	about := warning.About{Profile: s.about.Profile, Filesystem: "ext4", Config: s.Image.Mongod.Config}
	for name := range s.about.Sysctl {
		about.Own = append(about.Own, name)
	}
	for _, m := range s.Node.Status().Storage.Mounts {
		if m.Target == "/data" {
			about.Filesystem = m.Type
		}
	}
	return about
}
