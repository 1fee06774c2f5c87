// Package build makes an image: it gives each step of the plan its hands, and keeps what one step leaves for the next.
//
// All the thought is elsewhere: what an image is in resolve, the order in plan, the rules of each part in its own room. Results are parts in the cache, so a step
// whose inputs are the same takes no time, and says so.
package build

import (
	"context"
	"fmt"
	"sync"

	"grove/builder/artifact"
	"grove/builder/artifact/manifest"
	"grove/builder/cache"
	"grove/builder/debian"
	"grove/builder/fetch"
	"grove/builder/hosttool"
	"grove/builder/initramfs"
	"grove/builder/kernel"
	"grove/builder/mongod"
	"grove/builder/payload"
	"grove/builder/plan"
	"grove/internal/host"
	"grove/internal/spec"
	"grove/internal/step"
)

// Request says which image, and how to come by its parts.
type Request struct {
	Image   spec.Image
	Out     string             // folder for the image and what lies beside it
	Lock    *manifest.Manifest // packages are those of an earlier build; nil: of the mirror's index
	Offline bool               // use what the cache has and nothing else
	Refresh bool               // ask the mirror even when its index at hand is less than an hour old
	Packed  bool               // write NAME.img.zst too
	Sources []string           // folders from which Grove's own module is looked for
	Version string             // grove's own
	Cache   *cache.Cache
	Host    host.Host
	See     step.Observer
}

// Result is what came of it.
type Result struct {
	Artifact artifact.Artifact
	Reused   bool     // the image stood there already, made of the same parts
	Warnings []string // for a person
}

// Image makes the image. Nothing is left in the output folder unless all of it is done.
func Image(ctx context.Context, r Request) (Result, error) {
	source, err := initramfs.FindSource(ctx, r.Host, r.Sources...)
	if err != nil {
		return Result{}, err
	}
	if err := matches(r, source.Version); err != nil {
		return Result{}, err
	}
	j := &job{Request: r, fetcher: &fetch.Fetcher{Cache: r.Cache, Offline: r.Offline},
		maker: initramfs.Maker{Cache: r.Cache, Source: source, Image: r.Image.Name, Arch: r.Image.Board.Arch}}
	steps, hands := plan.Image(r.Image), j.hands()
	for n := range steps {
		steps[n].Run = hands[steps[n].ID]
		if steps[n].Run == nil {
			return Result{}, fmt.Errorf("BUG: nobody does step %q", steps[n].ID)
		}
	}
	err = step.Run(ctx, steps, r.See)
	return j.result, err
}

// job is one build under way. A step writes its own fields and reads those of the steps that it comes after.
type job struct {
	Request
	fetcher *fetch.Fetcher
	maker   initramfs.Maker

	client debian.Client
	index  *debian.Index // nil with a lock
	pins   pins
	tools  *hosttool.Tools
	kernel kernel.Kernel
	debs   []string // of pins.System
	mongod mongod.Binary
	uboot  *manifest.UBoot // nil on a board without
	system payload.System
	parts  map[string]string // initramfs part, joined initramfs, loader, state: path in the cache
	guard  sync.Mutex        // of parts and result.Warnings
	result Result
}

type hand = func(ctx context.Context, count step.Counter) (step.Outcome, error)

func (j *job) hands() map[string]hand {
	j.parts = map[string]string{}
	return map[string]hand{
		plan.Index:     j.readIndex,
		plan.Mongod:    j.takeMongod,
		plan.Busybox:   j.part(plan.Busybox, func(ctx context.Context) (string, step.Outcome, error) { return j.maker.Busybox(ctx, j.Image.Commands) }),
		plan.Agent:     j.part(plan.Agent, func(ctx context.Context) (string, step.Outcome, error) { return j.maker.Agent(ctx) }),
		plan.Tools:     j.openTools,
		plan.Kernel:    j.pickKernel,
		plan.Packages:  j.fetchPackages,
		plan.Loader:    j.part(plan.Loader, j.makeLoader),
		plan.State:     j.part(plan.State, j.makeState),
		plan.System:    j.makeSystem,
		plan.Initramfs: j.part(plan.Initramfs, j.joinInitramfs),
		plan.Write:     j.write,
	}
}

// part is a hand that leaves one path.
func (j *job) part(id string, get func(context.Context) (string, step.Outcome, error)) hand {
	return func(ctx context.Context, _ step.Counter) (step.Outcome, error) {
		path, out, err := get(ctx)
		j.guard.Lock()
		j.parts[id] = path
		j.guard.Unlock()
		return out, err
	}
}

func (j *job) get(id string) string {
	j.guard.Lock()
	defer j.guard.Unlock()
	return j.parts[id]
}

func (j *job) warn(warnings ...string) {
	j.guard.Lock()
	defer j.guard.Unlock()
	j.result.Warnings = append(j.result.Warnings, warnings...)
}
