package build

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"grove/builder/artifact/manifest"
	"grove/builder/debian"
)

// pins are the packages of a build, by what they are for.
type pins struct{ system, kernel, tools []debian.Package }

// packages is the form that stands in the manifest.
func (p pins) packages() []manifest.Package {
	var list []manifest.Package
	for _, use := range []struct {
		name string
		of   []debian.Package
	}{{manifest.System, p.system}, {manifest.Kernel, p.kernel}, {manifest.Tool, p.tools}} {
		for _, d := range use.of {
			list = append(list, manifest.Package{Name: d.Name, Version: d.Version, Arch: d.Arch, Source: d.Source, Suite: d.Suite, File: d.Filename, Size: d.Size, SHA256: d.SHA256, Use: use.name})
		}
	}
	return list
}

// pinned takes them out of a manifest again.
func pinned(m *manifest.Manifest) (p pins, err error) {
	by := map[string][]debian.Package{}
	for _, k := range m.Packages {
		by[k.Use] = append(by[k.Use], debian.Package{Name: k.Name, Version: k.Version, Arch: k.Arch, Source: k.Source, Suite: k.Suite, Filename: k.File, Size: k.Size, SHA256: k.SHA256})
	}
	for use, to := range map[string]*[]debian.Package{manifest.System: &p.system, manifest.Kernel: &p.kernel, manifest.Tool: &p.tools} {
		if len(by[use]) == 0 {
			return p, fmt.Errorf("the lock has no packages for %s", use)
		}
		if *to, err = debian.Pinned(by[use]); err != nil {
			return p, fmt.Errorf("the lock's packages for %s: %w", use, err)
		}
	}
	return p, nil
}

// matches refuses a lock that can't lead to the same bytes: another spec, another Go.
func matches(r Request, goVersion string) error {
	if r.Lock == nil {
		return nil
	}
	spec, err := json.Marshal(r.Image)
	if err != nil {
		return err
	}
	var was bytes.Buffer
	if err := json.Compact(&was, r.Lock.Spec); err != nil {
		return fmt.Errorf("read the lock's spec: %w", err)
	}
	switch {
	case r.Lock.Image != r.Image.Name:
		return fmt.Errorf("the lock is of image %s, the recipe of %s", r.Lock.Image, r.Image.Name)
	case !bytes.Equal(spec, was.Bytes()):
		return fmt.Errorf("the recipe has changed since the lock was written (grove show prints it, the lock holds it under spec): build without --lock")
	case goVersion != r.Lock.Go:
		return fmt.Errorf("the lock was built by %s, here is %s: other bytes would come of it", r.Lock.Go, goVersion)
	}
	return nil
}

func modules(list []debug.Module) []manifest.Module {
	var all []manifest.Module
	for _, m := range list {
		all = append(all, manifest.Module{Path: m.Path, Version: m.Version, Sum: m.Sum})
	}
	return all
}
