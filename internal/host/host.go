// Package host is the one door to programs, locks and disks. Nothing else in Grove imports os/exec, syscall or x/sys/unix, but PID 1.
//
// Host is what the builder and the lab need of the machine that they run on.
package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
)

// Command is a program to run. Args leaves the program's own name out. Env is added to the environment of the caller, or replaces it when Clean is set.
type Command struct {
	Path   string
	Args   []string
	Dir    string
	Env    []string
	Clean  bool
	Stdin  io.Reader
	Stdout io.Writer // nil: collected
	Stderr io.Writer // nil: collected
}

// String is the command as a person would type it.
func (c Command) String() string {
	words := append([]string{c.Path}, c.Args...)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n\"'$*?[]{}()<>|&;\\") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// Process is a program under way.
type Process interface {
	PID() int
	Signal(os.Signal) error
	Wait() error // may be called once
}

// Extent is a piece of a file that holds data, in bytes.
type Extent struct{ Start, Size int64 }

// Host is the door.
type Host interface {
	// Run runs a program to its end and gives what it printed on standard output. The error of a failed program holds its command line and the end of
	// what it printed. When ctx ends, the program gets SIGTERM, and SIGKILL after 5 seconds.
	Run(ctx context.Context, c Command) ([]byte, error)
	// Start runs a program in a process group of its own and does not wait; it gets SIGTERM when ctx ends.
	Start(ctx context.Context, c Command) (Process, error)
	// Look finds a program in PATH, "" when there is none.
	Look(name string) string
	// Lock takes an exclusive lock on a file, made if missing, and waits until ctx ends. waiting, if not nil, is called once when another holds it.
	Lock(ctx context.Context, path string, waiting func()) (unlock func(), err error)
	// Free is the room left for an ordinary user on the file system of path, in bytes.
	Free(path string) (int64, error)
	// Extents lists the pieces of a file that hold data; all of it where the file system keeps no holes.
	Extents(f *os.File) ([]Extent, error)
}

// Exit is a program that ended with a code other than 0.
type Exit struct {
	Command string
	Code    int    // -1 when killed by a signal
	Output  string // the end of what it printed, at most 2 KiB
}

func (e *Exit) Error() string {
	if e.Output == "" {
		return fmt.Sprintf("%s: exit code %d", e.Command, e.Code)
	}
	return fmt.Sprintf("%s: exit code %d: %s", e.Command, e.Code, e.Output)
}
