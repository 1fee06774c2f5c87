package host

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Limit is a resource limit of setrlimit(2), soft and hard alike: nofile, nproc or memlock. A value below 0 is none.
type Limit struct {
	Resource string
	Value    int64
}

// resources are the limits by the names that setrlimit(2) and limits.conf have for them.
var resources = map[string]int{"nofile": unix.RLIMIT_NOFILE, "nproc": unix.RLIMIT_NPROC, "memlock": unix.RLIMIT_MEMLOCK}

// withLimits starts a child under limits. A process can only have them from its parent or set them itself, before the program's first instruction; set on the child from here
// they would race with a server that reads them as it starts. So the agent takes them for the moment of the start, and the Go runtime, which gives children the soft limit of
// open files that it found, knows since it is told by syscall.Setrlimit.
func withLimits(limits []Limit, start func() error) error {
	for _, l := range limits {
		resource, known := resources[l.Resource]
		if !known {
			return fmt.Errorf("BUG: no limit %q", l.Resource)
		}
		var before syscall.Rlimit
		if err := syscall.Getrlimit(resource, &before); err != nil {
			return fmt.Errorf("read the limit %s: %w", l.Resource, err)
		}
		value := uint64(l.Value)
		if l.Value < 0 {
			value = unix.RLIM_INFINITY
		}
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("set the limit %s to %d: %w", l.Resource, l.Value, err)
		}
		defer syscall.Setrlimit(resource, &before) // best effort: an agent that is not allowed to go back lives with them
	}
	return start()
}
