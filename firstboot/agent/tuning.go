package agent

import (
	"context"
	"runtime"

	"grove/internal/spec"
)

// tune sets what needs no disk, once the node's settings are known. False means that ctx has ended before.
func (a *Agent) tune(ctx context.Context) bool {
	s, known := a.settings(ctx)
	if known {
		a.tuner.System(s.Tuning)
	}
	return known
}

// arch is the processor's by Debian's name.
func arch() spec.Arch {
	if runtime.GOARCH == "arm" {
		return spec.ARMHF
	}
	return spec.Arch(runtime.GOARCH)
}
