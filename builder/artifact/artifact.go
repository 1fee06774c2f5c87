// Package artifact is a finished image as the verbs after build know it: flash, register and lab read it, and never a recipe.
//
//	NAME.img            sparse
//	NAME.manifest.json  what it is made of (package manifest), enough to build the same bytes again
//	NAME.spdx.json      the same as a bill of materials, SPDX 2.3
//	NAME.bmap           the pieces that must be written, with their sums, for bmaptool
//	NAME.sha256         for sha256sum -c
//	NAME.img.zst        when asked for
//
// None holds a time of day, a path of the machine that built it or the name of a mirror: the same inputs give the same bytes. An image that comes alone,
// without its manifest, can still be opened; then all of it counts as mapped.
package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"grove/builder/artifact/manifest"
	"grove/internal/size"
	"grove/internal/step"
)

// Files are the paths of an artifact.
type Files struct {
	Image      string `json:"image"`
	Manifest   string `json:"manifest"`
	SBOM       string `json:"sbom"`
	Map        string `json:"bmap"`
	Sum        string `json:"sha256"`
	Compressed string `json:"compressed,omitempty"`
}

// In gives the paths of the artifact of this name in a folder.
func In(folder, name string) Files {
	at := func(end string) string { return filepath.Join(folder, name+end) }
	return Files{at(".img"), at(".manifest.json"), at(".spdx.json"), at(".bmap"), at(".sha256"), at(".img.zst")}
}

// Beside gives the content of the files beside the image, by path.
func (at Files) Beside(m *manifest.Manifest) (map[string][]byte, error) {
	data, err := m.JSON()
	if err != nil {
		return nil, err
	}
	sbom, err := m.SPDX()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		at.Manifest: data,
		at.SBOM:     sbom,
		at.Map:      m.Digest.Bmap(),
		at.Sum:      fmt.Appendf(nil, "%s  %s\n", m.Digest.SHA256, filepath.Base(at.Image)),
	}, nil
}

// Artifact is an opened image. Manifest is nil when the image came alone.
type Artifact struct {
	Path     string
	Size     size.Size
	Manifest *manifest.Manifest
}

// Open takes the path of an image or of its manifest. That the image has the size that the manifest names is checked here, its content by Verify.
func Open(path string) (Artifact, error) {
	stem, named := strings.CutSuffix(path, ".manifest.json")
	if !named {
		if stem, named = strings.CutSuffix(path, ".img"); !named {
			stem = path
		}
	}
	image := stem + ".img"
	if !named {
		image = path
	}
	info, err := os.Stat(image)
	if err != nil {
		return Artifact{}, fmt.Errorf("open the image: %w", err)
	}
	a := Artifact{Path: image, Size: size.Size(info.Size())}
	data, err := os.ReadFile(stem + ".manifest.json")
	if errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(path, ".manifest.json") {
		return a, nil
	}
	if err != nil {
		return Artifact{}, fmt.Errorf("open the image: %w", err)
	}
	a.Manifest, err = manifest.Read(data)
	if err != nil {
		return Artifact{}, fmt.Errorf("open %s: %w", stem+".manifest.json", err)
	}
	if want := a.Manifest.Digest.Size; want != a.Size {
		return Artifact{}, fmt.Errorf("open %s: the image has %d bytes, its manifest says %d: one of them is from another build", image, a.Size, want)
	}
	return a, nil
}

// Mapped are the pieces to be written to a medium; one for all of an image that came alone, without a sum.
func (a Artifact) Mapped() []manifest.Range {
	if a.Manifest == nil {
		return []manifest.Range{{Size: int64(a.Size)}}
	}
	return a.Manifest.Digest.Mapped
}

// Verify compares the whole image with its manifest; one that came alone has nothing to compare with.
func (a Artifact) Verify(ctx context.Context, count step.Counter) error {
	if a.Manifest == nil {
		return fmt.Errorf("verify %s: it has no manifest beside it", a.Path)
	}
	f, err := os.Open(a.Path)
	if err != nil {
		return fmt.Errorf("verify the image: %w", err)
	}
	defer f.Close()
	count.Total(int64(a.Size))
	h, buf := sha256.New(), make([]byte, size.MiB)
	for {
		if ctx.Err() != nil {
			return fmt.Errorf("verify %s: %w", a.Path, context.Cause(ctx))
		}
		n, err := f.Read(buf)
		h.Write(buf[:n])
		count.Add(int64(n))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("verify the image: %w", err)
		}
	}
	if have, want := hex.EncodeToString(h.Sum(nil)), a.Manifest.Digest.SHA256; have != want {
		return fmt.Errorf("verify %s: have sha256 %s, the manifest says %s", a.Path, have, want)
	}
	return nil
}
