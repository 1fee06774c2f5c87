package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/builder/artifact/manifest"
	"grove/internal/step"
)

// made is an artifact of 3 MiB and a bit in a folder.
func made(t *testing.T) Files {
	t.Helper()
	at := In(t.TempDir(), "demo")
	image := make([]byte, 3<<20+4096)
	sum := sha256.Sum256(image)
	m := &manifest.Manifest{Image: "demo", Digest: manifest.Digest{SHA256: hex.EncodeToString(sum[:]), Size: 3<<20 + 4096,
		Mapped: []manifest.Range{{Start: 0, Size: 4096}}}}
	files, err := at.Beside(m)
	if err != nil {
		t.Fatal(err)
	}
	files[at.Image] = image
	for path, data := range files {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

func TestOpenByImageOrManifest(t *testing.T) {
	at := made(t)
	for _, path := range []string{at.Image, at.Manifest} {
		a, err := Open(path)
		if err != nil || a.Path != at.Image || a.Manifest == nil || len(a.Mapped()) != 1 || a.Mapped()[0].Size != 4096 {
			t.Errorf("%s: got %+v, %v", path, a, err)
		}
		if err := a.Verify(context.Background(), step.Silent{}); err != nil {
			t.Error(err)
		}
	}
}

func TestImageThatCameAloneIsMappedWhole(t *testing.T) {
	at := made(t)
	other := filepath.Join(filepath.Dir(at.Image), "disk.raw")
	if err := os.Rename(at.Image, other); err != nil {
		t.Fatal(err)
	}
	a, err := Open(other)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]manifest.Range{{Size: 3<<20 + 4096}}, a.Mapped()); diff != "" {
		t.Error(diff)
	}
	if err := a.Verify(context.Background(), step.Silent{}); err == nil || !strings.Contains(err.Error(), "no manifest beside it") {
		t.Errorf("verify: got %v", err)
	}
}

func TestOpenAndVerifyRefuse(t *testing.T) {
	tests := []struct {
		name   string
		change func(t *testing.T, at Files) error
		open   func(at Files) string
		want   string
	}{
		{"no image", func(_ *testing.T, at Files) error { return os.Remove(at.Image) }, func(at Files) string { return at.Manifest }, "demo.img: no such file"},
		{"no manifest", func(_ *testing.T, at Files) error { return os.Remove(at.Manifest) }, func(at Files) string { return at.Manifest }, "demo.manifest.json: no such file"},
		{"cut image", func(_ *testing.T, at Files) error { return os.Truncate(at.Image, 1<<20) }, func(at Files) string { return at.Image }, "has 1048576 bytes, its manifest says 3149824"},
		{"broken manifest", func(_ *testing.T, at Files) error { return os.WriteFile(at.Manifest, []byte("{"), 0o644) }, func(at Files) string { return at.Image }, "read the manifest"},
		{"one byte differs", func(_ *testing.T, at Files) error {
			b, _ := os.ReadFile(at.Image)
			b[len(b)-1] = 1
			return os.WriteFile(at.Image, b, 0o644)
		}, func(at Files) string { return at.Image }, "the manifest says"},
	}
	for _, test := range tests {
		at := made(t)
		if err := test.change(t, at); err != nil {
			t.Fatal(err)
		}
		a, err := Open(test.open(at))
		if err == nil {
			err = a.Verify(context.Background(), step.Silent{})
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func TestVerifyIsCancelled(t *testing.T) {
	a, err := Open(made(t).Image)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := a.Verify(ctx, step.Silent{}); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("got %v", err)
	}
}
