package build

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"grove/builder/debian"
	"grove/builder/debian/deb"
	"grove/builder/elfcheck"
	"grove/builder/hosttool"
	"grove/builder/kernel"
	"grove/builder/mongod"
	"grove/builder/payload"
	"grove/internal/spec"
	"grove/internal/step"
)

// readIndex decides which packages go in: by the mirror's index, or by the lock.
func (j *job) readIndex(ctx context.Context, count step.Counter) (step.Outcome, error) {
	origin, err := debian.Discover(j.Image.Debian, j.Image.Board.Arch)
	if err != nil {
		return step.Outcome{}, err
	}
	j.client = debian.Client{Origin: origin, Fetcher: j.fetcher, Refresh: j.Refresh}
	if j.Lock != nil {
		j.pins, err = pinned(j.Lock)
		return step.Outcome{Reused: true, Why: fmt.Sprintf("%d packages are pinned by the lock", len(j.Lock.Packages))}, err
	}
	if j.index, err = j.client.Index(ctx, count); err != nil {
		return step.Outcome{}, err
	}
	j.warn(j.index.Warnings...)
	j.pins, err = j.choose(ctx)
	return step.Outcome{Why: fmt.Sprintf("%d packages chosen", len(j.pins.system)+len(j.pins.kernel)+len(j.pins.tools))}, err
}

func (j *job) choose(ctx context.Context) (pins, error) {
	var p pins
	var err error
	if p.system, err = j.index.Closure(append(append([]string{}, j.Image.Packages...), j.Image.Mongod.Packages...), payload.Without(j.Image.Packages)); err != nil {
		return p, err
	}
	if p.kernel, err = j.chooseKernel(); err != nil {
		return p, err
	}
	own, err := j.ownIndex(ctx)
	if err != nil {
		return p, err
	}
	p.tools, err = hosttool.Packages(own, j.index, j.Image.Board.Arch)
	return p, err
}

// chooseKernel follows a name such as linux-image-cloud-amd64, which is an empty package, to the one with the files.
func (j *job) chooseKernel() ([]debian.Package, error) {
	all, err := j.index.Closure([]string{j.Image.Board.Kernel.Package}, []string{"kmod", "linux-base*", "initramfs*", "linux-initramfs*", "dracut*"})
	if err != nil {
		return nil, err
	}
	var found debian.Package
	for _, p := range all {
		if strings.HasPrefix(p.Name, "linux-image-") && p.Size > found.Size {
			found = p
		}
	}
	if found.Name == "" {
		return nil, fmt.Errorf("%s leads to no linux-image package", j.Image.Board.Kernel.Package)
	}
	return []debian.Package{found}, nil
}

// ownIndex is that of this machine's architecture, out of which the host tools come.
func (j *job) ownIndex(ctx context.Context) (*debian.Index, error) {
	arch := hosttool.Arch()
	if arch == "" || arch == j.Image.Board.Arch {
		return j.index, nil
	}
	own := j.client
	var err error
	if own.Origin, err = debian.Discover(j.Image.Debian, arch); err != nil {
		return nil, err
	}
	return own.Index(ctx, step.Silent{})
}

func (j *job) openTools(ctx context.Context, count step.Counter) (out step.Outcome, err error) {
	j.tools, out, err = hosttool.Open(ctx, j.client, j.pins.tools, count)
	return out, err
}

func (j *job) fetchPackages(ctx context.Context, count step.Counter) (out step.Outcome, err error) {
	missing := 0
	for _, p := range j.pins.system {
		if _, found := j.Cache.Blob(p.SHA256); !found {
			missing++
		}
	}
	j.debs, err = j.client.Fetch(ctx, j.pins.system, count)
	return step.Outcome{Reused: missing == 0, Why: fmt.Sprintf("%d of %d were at hand", len(j.pins.system)-missing, len(j.pins.system))}, err
}

func (j *job) pickKernel(ctx context.Context, count step.Counter) (out step.Outcome, err error) {
	files, err := j.client.Fetch(ctx, j.pins.kernel, count)
	if err != nil {
		return out, err
	}
	j.kernel, out, err = kernel.Build(ctx, j.Cache, kernel.Request{Image: j.Image.Name, Deb: files[0], SHA256: j.pins.kernel[0].SHA256,
		Boot: j.Image.Board.Kernel.Boot, System: j.Image.Board.Kernel.System, Trees: j.Image.Board.Kernel.DeviceTrees})
	return out, err
}

func (j *job) takeMongod(ctx context.Context, count step.Counter) (out step.Outcome, err error) {
	store := &mongod.Store{Cache: j.Cache, Host: j.Host, Files: j.fetcher, Unpack: deb.Unpack, Offline: j.Offline}
	j.mongod, out, err = store.Get(ctx, j.Image, count)
	return out, err
}

func (j *job) makeSystem(ctx context.Context, count step.Counter) (out step.Outcome, err error) {
	r := payload.Request{Image: j.Image, Host: j.Host, Tools: j.tools, Unpack: deb.Unpack,
		Mongod:  payload.Mongod{File: j.mongod.Path, Docs: j.mongod.Docs, SHA256: j.Image.Mongod.Source.SHA256},
		Modules: payload.Modules{Folder: j.kernel.System, Key: j.kernel.Key},
		Advise:  func(soname string) string { return j.advise(ctx, soname) },
	}
	for _, in := range j.toolInputs() {
		r.Packer += in.Value
	}
	for n, p := range j.pins.system {
		r.Packages = append(r.Packages, payload.Package{Name: p.Name, SHA256: p.SHA256, File: j.debs[n]})
	}
	j.system, out, err = payload.Build(ctx, j.Cache, r, count)
	return out, err
}

// advise is asked only when a library is missing. What no package of the suite has, an older or newer program than the suite's needs.
func (j *job) advise(ctx context.Context, soname string) string {
	guess := elfcheck.Packages(soname)
	if j.index == nil || j.Offline {
		return elfcheck.LookIn(guess)
	}
	where := j.Image.Debian.Suite + " for " + string(j.Image.Board.Arch)
	none := "no package of " + where + " has it"
	names, err := j.index.WhoHas(ctx, soname)
	if err != nil {
		j.warn(fmt.Sprintf("which package has %s can't be told: %v", soname, err))
		none = where + " has no package " + strings.Join(guess, " or ")
		names, err = j.index.Known(guess)
	}
	if err != nil || len(names) > 0 {
		return elfcheck.LookIn(names)
	}
	return none + ", so bring a program that was linked with what the suite has, or statically"
}

// settings are the values that the agent is told, each by its path, to say which of them changed.
func settings(n spec.Node) []setting {
	list := flat("mongod.config", n.Mongod.Config)
	return append(list, setting{"image", n.Image}, setting{"disk id", n.DiskID}, setting{"time", fmt.Sprint(n.Time)},
		setting{"console.login", n.Console}, setting{"board", n.Board}, setting{"mongod.version", n.Mongod.Version},
		setting{"cluster", n.Cluster}, setting{"storage", asJSON(n.Storage)}, setting{"swap", asJSON(n.Swap)})
}

// asJSON is a value that prints the same whenever it is the same.
func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
