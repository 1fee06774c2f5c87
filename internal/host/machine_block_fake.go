package host

import (
	"fmt"
	"os"
	"slices"

	"grove/internal/size"
)

// IsMountPoint see Machine.
func (f *FakeMachine) IsMountPoint(path string) (bool, error) {
	defer f.lock()()
	return slices.ContainsFunc(f.mounts, func(m Mount) bool { return m.Target == path }), nil
}

// LoadModule see Machine.
func (f *FakeMachine) LoadModule(file string) error {
	defer f.lock()()
	if err := f.Broken[file]; err != nil {
		return fmt.Errorf("load module %s: %w", file, err)
	}
	if line := "module " + file; !slices.Contains(f.loaded, line) {
		f.loaded = append(f.loaded, line)
	}
	return nil
}

// Allocate see Machine.
func (f *FakeMachine) Allocate(file string, length size.Size) error {
	if err := f.Broken[file]; err != nil {
		return err
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	return os.Truncate(file, int64(length))
}

// SwapOn see Machine.
func (f *FakeMachine) SwapOn(path string, priority int) error {
	defer f.lock()()
	if err := f.Broken[path]; err != nil {
		return err
	}
	f.swaps = append(f.swaps, fmt.Sprintf("swap on %s, priority %d", path, priority))
	return nil
}
