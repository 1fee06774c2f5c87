package host

import (
	"context"
	"fmt"
	"slices"
)

// Run see Machine.
func (f *FakeMachine) Run(ctx context.Context, c Command) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := f.Broken[c.Path]; err != nil {
		return nil, err
	}
	if f.Programs == nil {
		return nil, nil
	}
	out, err := f.Programs(c)
	return []byte(out), err
}

// Held see Machine.
func (f *FakeMachine) Held(dev string) (bool, error) {
	defer f.lock()()
	return f.Taken[dev] || slices.ContainsFunc(f.mounts, func(m Mount) bool { return m.Source == dev }), nil
}

// IdentifyNVMe see Machine.
func (f *FakeMachine) IdentifyNVMe(dev string) ([]byte, error) {
	if data := f.NVMe[dev]; data != nil {
		return data, nil
	}
	return nil, fmt.Errorf("ask %s who it is: no NVMe", dev)
}
