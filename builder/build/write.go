package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"grove/builder/artifact"
	"grove/builder/artifact/manifest"
	"grove/builder/assemble"
	"grove/builder/cache"
	"grove/builder/initramfs"
	"grove/builder/plan"
	"grove/internal/filesystem"
	"grove/internal/spec"
	"grove/internal/step"
)

// write writes the image, unless one made of the same parts stands there.
func (j *job) write(ctx context.Context, count step.Counter) (step.Outcome, error) {
	keys := map[string]string{"kernel": j.kernel.Key, "system": j.system.Key}
	for _, id := range []string{plan.Busybox, plan.Agent, plan.Loader, plan.State, plan.Initramfs} {
		keys[id] = filepath.Base(j.get(id))
	}
	spec, err := json.Marshal(j.Image)
	if err != nil {
		return step.Outcome{}, err
	}
	keys["spec"] = short(spec)
	if a, ok := j.stands(keys); ok {
		j.result.Artifact, j.result.Reused = a, true
		return step.Outcome{Reused: true, Why: "nothing changed"}, nil
	}
	if info, err := os.Stat(artifact.In(j.Out, j.Image.Name).Image); err == nil && !info.Mode().IsRegular() {
		return step.Outcome{}, fmt.Errorf("%s is there and is no file", artifact.In(j.Out, j.Image.Name).Image)
	}
	parts, err := j.assembly(ctx, spec, keys)
	if err != nil {
		return step.Outcome{}, err
	}
	unlock, err := j.Cache.Lock(ctx, "out-"+short([]byte(j.Out+"/"+j.Image.Name)), nil)
	if err != nil {
		return step.Outcome{}, err
	}
	defer unlock()
	files, err := assemble.Write(ctx, j.Host, parts, j.Out, count)
	if err != nil {
		return step.Outcome{}, err
	}
	if j.result.Artifact, err = artifact.Open(files.Image); err != nil {
		return step.Outcome{}, err
	}
	return step.Outcome{Why: j.changed(keys)}, j.kept()
}

// changed says which parts are others than those of this image's last build.
func (j *job) changed(keys map[string]string) string {
	var in []cache.Input
	for _, name := range []string{"kernel", "system", plan.Busybox, plan.Agent, plan.Loader, plan.State, plan.Initramfs, "spec"} {
		in = append(in, cache.Input{Name: name, Value: keys[name]})
	}
	return j.Cache.Changed(cache.Part{Name: "image", For: j.Image.Name, Inputs: in})
}

// kept holds a lock to its word: the image must be the one that it describes.
func (j *job) kept() error {
	if j.Lock == nil {
		return nil
	}
	if have, want := j.result.Artifact.Manifest.Digest.SHA256, j.Lock.Digest.SHA256; have != want {
		return fmt.Errorf("have sha256 %s, the lock wants %s: the lock was edited, or grove itself has changed since it was written", have, want)
	}
	return nil
}

// stands finds an image in the output folder that was made of the same parts and has its size; that nobody wrote into it since is what its time says.
func (j *job) stands(keys map[string]string) (artifact.Artifact, bool) {
	at := artifact.In(j.Out, j.Image.Name)
	a, err := artifact.Open(at.Image)
	if err != nil || a.Manifest == nil || len(a.Manifest.Parts) != len(keys) {
		return a, false
	}
	for name, key := range keys {
		if a.Manifest.Parts[name] != key {
			return a, false
		}
	}
	for _, path := range []string{at.SBOM, at.Map, at.Sum} {
		if _, err := os.Stat(path); err != nil {
			return a, false
		}
	}
	if _, err := os.Stat(at.Compressed); (err == nil) != j.Packed {
		return a, false
	}
	image, err := os.Stat(at.Image)
	if err != nil {
		return a, false
	}
	sum, err := os.Stat(at.Sum)
	return a, err == nil && !image.ModTime().After(sum.ModTime()) && (j.Lock == nil || j.Lock.Digest.SHA256 == a.Manifest.Digest.SHA256)
}

// assembly is all that goes into the image.
func (j *job) assembly(ctx context.Context, resolved []byte, keys map[string]string) (assemble.Parts, error) {
	loader, err := j.loader()
	if err != nil {
		return assemble.Parts{}, err
	}
	told, err := j.told(ctx)
	if err != nil {
		return assemble.Parts{}, err
	}
	source, err := json.Marshal(j.Image.Mongod.Source)
	if err != nil {
		return assemble.Parts{}, err
	}
	m := manifest.Manifest{Grove: j.Version, Spec: resolved, Kernel: j.kernel.Release, Packages: j.pins.packages(), Go: j.maker.Source.Version, Modules: told.Modules, Parts: keys,
		Mongod: manifest.Mongod{Version: j.Image.Mongod.Version, Source: source, SHA256: told.Mongod}, UBoot: j.uboot}
	for _, f := range j.system.Files {
		m.System = append(m.System, manifest.File(f))
	}
	return assemble.Parts{Image: j.Image, Loader: loader, System: j.system.Squashfs, State: j.get(plan.State), Manifest: m, Compress: j.Packed,
		Boot: j.bootFiles()}, nil
}

// bootFiles are those of the boot partition beside the loader's own.
func (j *job) bootFiles() []filesystem.File {
	files := []filesystem.File{{Path: "vmlinuz", From: j.kernel.Vmlinuz}, {Path: "initrd", From: j.get(plan.Initramfs)}, {Path: spec.NodeFile + ".example", Data: []byte(example)}}
	for _, name := range j.Image.Board.Kernel.DeviceTrees {
		files = append(files, filesystem.File{Path: "dtbs/" + name + ".dtb", From: filepath.Join(j.kernel.Trees, name+".dtb")})
	}
	return files
}

// told is what only the programs themselves tell. Reading it takes a fifth of a second, which a changed setting should not cost.
type told struct {
	Mongod  string            // hash of the program
	Modules []manifest.Module // of Go
}

func (j *job) told(ctx context.Context) (told, error) {
	var t told
	parts := []string{j.get(plan.Busybox), j.get(plan.Agent)}
	path, _, err := j.Cache.Get(ctx, cache.Part{Name: "told", For: j.Image.Name,
		Inputs: []cache.Input{{Name: "mongod", Value: j.Image.Mongod.Source.SHA256}, {Name: "busybox", Value: filepath.Base(parts[0])}, {Name: "agent", Value: filepath.Base(parts[1])}},
		Make: func(_ context.Context, to string) error {
			program, err := hash(j.mongod.Path)
			if err != nil {
				return err
			}
			list, err := initramfs.GoModules(parts...)
			if err != nil {
				return err
			}
			text, err := json.Marshal(told{program, modules(list)})
			if err != nil {
				return err
			}
			return os.WriteFile(to, text, 0o644)
		}})
	if err != nil {
		return t, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(text, &t)
}

// example lies beside the place of node.yaml, for whoever opens the card on a PC.
const example = `# Copy this file to node.yaml and give the node its name. Letters, digits and hyphens; no two nodes of a set may share one.
hostname: db1
`

func short(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

func hash(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}
