package host

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
)

// Fake is a machine on which programs do what Programs says and nothing is run. Locks exclude nobody, disks are never full unless FreeBytes
// says so, and files have no holes: states that need the real thing are tested on it.
type Fake struct {
	Programs  func(Command) (output string, err error)
	FreeBytes int64

	mu  sync.Mutex
	ran []string
}

// Ran lists the command lines so far.
func (f *Fake) Ran() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.ran...)
}

// Run see Host.
func (f *Fake) Run(ctx context.Context, c Command) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f.mu.Lock()
	f.ran = append(f.ran, c.String())
	f.mu.Unlock()
	if f.Programs == nil {
		return nil, nil
	}
	out, err := f.Programs(c)
	return []byte(out), err
}

// Start see Host; the fake has no programs that stay.
func (f *Fake) Start(context.Context, Command) (Process, error) {
	return nil, errors.New("the fake host starts nothing")
}

// Look see Host.
func (f *Fake) Look(name string) string { return "/usr/bin/" + name }

// Lock see Host.
func (f *Fake) Lock(context.Context, string, func()) (func(), error) { return func() {}, nil }

// Free see Host.
func (f *Fake) Free(string) (int64, error) {
	if f.FreeBytes == 0 {
		return math.MaxInt64, nil
	}
	return f.FreeBytes, nil
}

// Extents see Host.
func (f *Fake) Extents(file *os.File) ([]Extent, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("size of %s: %w", file.Name(), err)
	}
	return []Extent{{0, info.Size()}}, nil
}
