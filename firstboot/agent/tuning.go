package agent

import (
	"context"
	"runtime"

	"grove/firstboot/tuner"
	"grove/internal/spec"
)

func (a *Agent) openTuner() {
	a.tuner = &tuner.Site{Root: a.Root, Image: a.image, Arch: arch(), Node: a.voice.On("tuning"), Warnings: a.Warnings}
	a.tuner.Open()
}

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
