package build

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"grove/builder/artifact/manifest"
	"grove/builder/debian"
	"grove/internal/spec"
)

func one(name string) debian.Package {
	return debian.Package{Name: name, Version: "1.0-1", Arch: "amd64", Source: name, Suite: "trixie", Filename: "pool/main/x/" + name + "_1.0-1_amd64.deb", Size: 7, SHA256: strings.Repeat("ab", 32)}
}

func TestPinsAreReadBackOutOfAManifest(t *testing.T) {
	want := pins{system: []debian.Package{one("libc6"), one("mdadm")}, kernel: []debian.Package{one("linux-image-1")}, tools: []debian.Package{one("e2fsprogs")}}
	got, err := pinned(&manifest.Manifest{Packages: want.packages()})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(pins{}), cmpopts.IgnoreUnexported(debian.Package{})); d != "" {
		t.Error(d)
	}
}

func TestALockWithoutAKernelIsRefused(t *testing.T) {
	p := pins{system: []debian.Package{one("libc6")}, tools: []debian.Package{one("e2fsprogs")}}
	if _, err := pinned(&manifest.Manifest{Packages: p.packages()}); err == nil || err.Error() != "the lock has no packages for kernel" {
		t.Errorf("got %v", err)
	}
}

func TestALockMustMatch(t *testing.T) {
	image := spec.Image{Name: "demo", Seed: "demo"}
	text, err := json.MarshalIndent(image, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	lock := manifest.Manifest{Image: "demo", Spec: text, Go: "go1.26.8"}
	for _, c := range []struct {
		name   string
		change func(*Request)
		with   string
		want   string
	}{
		{"the same", func(*Request) {}, "go1.26.8", ""},
		{"no lock at all", func(r *Request) { r.Lock = nil }, "go1.1", ""},
		{"another image", func(r *Request) { r.Image.Name = "other" }, "go1.26.8", "the lock is of image demo, the recipe of other"},
		{"another spec", func(r *Request) { r.Image.Seed = "x" }, "go1.26.8", "the recipe has changed since the lock was written"},
		{"another Go", func(*Request) {}, "go1.27.0", "the lock was built by go1.26.8, here is go1.27.0"},
	} {
		r := Request{Image: image, Lock: &lock}
		c.change(&r)
		got := ""
		if err := matches(r, c.with); err != nil {
			got = err.Error()
		}
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
		}
	}
}

func TestSettingsAreNamedByTheirPath(t *testing.T) {
	got := settings(spec.Node{Image: "demo", Mongod: spec.NodeMongod{Config: map[string]any{"storage": map[string]any{"directoryPerDB": true}, "net": map[string]any{"port": 27018}}}})
	want := []setting{{"mongod.config.net.port", "27018"}, {"mongod.config.storage.directoryPerDB", "true"}}
	if d := cmp.Diff(want, got[:2], cmp.AllowUnexported(setting{})); d != "" {
		t.Error(d)
	}
}

func TestEveryStepOfThePlanHasAHand(t *testing.T) {
	j := &job{}
	for id, hand := range j.hands() {
		if hand == nil {
			t.Errorf("step %s has none", id)
		}
	}
}
