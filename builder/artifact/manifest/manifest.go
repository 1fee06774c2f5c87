// Package manifest is what an image is made of, as a value: written as Grove's own JSON, from which the same bytes can be built again, as a bill of materials
// in SPDX, and as a map for bmaptool.
package manifest

import (
	"encoding/json"
	"fmt"

	"grove/internal/size"
	"grove/internal/spec"
)

// format is the version of the manifest's own form. A change that an older Grove would misread raises it.
const format = 1

// Manifest says what an image is made of.
type Manifest struct {
	Format   int               `json:"format"`
	Grove    string            `json:"grove"` // version that built it
	Image    string            `json:"image"` // the recipe's name
	Digest   Digest            `json:"digest"`
	Spec     json.RawMessage   `json:"spec"` // the resolved spec
	Disk     Disk              `json:"disk"`
	Time     int64             `json:"time"` // that all files and file systems of the image carry
	Kernel   string            `json:"kernel"`
	Mongod   Mongod            `json:"mongod"`
	UBoot    *UBoot            `json:"uboot,omitempty"`
	Packages []Package         `json:"packages"`
	System   []File            `json:"system"` // all that the system's squashfs holds
	Go       string            `json:"go"`
	Modules  []Module          `json:"modules"` // Go modules in agent and busybox
	Parts    map[string]string `json:"parts"`   // keys of the parts in the cache
}

// Disk is the layout of the medium.
type Disk struct {
	GUID       string      `json:"guid"` // of an MBR its signature
	Size       size.Size   `json:"size"`
	Partitions []Partition `json:"partitions"`
}

// Partition is a place on it, with its number in the table.
type Partition struct {
	Number int       `json:"number"`
	Role   string    `json:"role"`
	Label  string    `json:"label"`
	Type   string    `json:"type"`
	UUID   string    `json:"uuid"`
	FS     string    `json:"fs,omitempty"`
	Start  size.Size `json:"start"`
	Size   size.Size `json:"size"`
}

// Mongod is the server with where it came from, as the recipe says it.
type Mongod struct {
	Version string          `json:"version"`
	Source  json.RawMessage `json:"source"`
	SHA256  string          `json:"sha256"` // of the program itself
}

// UBoot is the boot loader of a board that has none of its own. What is known of its making is empty for one that the recipe brings.
type UBoot struct {
	DeviceTree string            `json:"device_tree"`
	SHA256     string            `json:"sha256"`
	Defconfig  string            `json:"defconfig,omitempty"`
	Version    string            `json:"version,omitempty"`  // of Debian's source package
	Compiler   string            `json:"compiler,omitempty"` // Debian's package of it with its version
	Sources    map[string]string `json:"sources,omitempty"`  // sha256 of the source package's files, by name
	Differs    string            `json:"differs,omitempty"`  // why its bytes are not those that the board records
}

// Package is a Debian package. File is its path on any mirror.
type Package struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Arch    string    `json:"arch"`
	Source  string    `json:"source"` // source package, with its version in brackets where that differs
	Suite   string    `json:"suite"`
	File    string    `json:"file"`
	Size    size.Size `json:"size"`
	SHA256  string    `json:"sha256"`
	Use     string    `json:"use"` // System, Kernel: in the image; Tool: it built the image
}

// File is an entry of the system, by its path below /usr; that of a folder ends in a slash. Link is the target of a symbolic link.
type File struct {
	Path string `json:"path"`
	Mode uint32 `json:"mode"`
	Size int64  `json:"size,omitempty"`
	Link string `json:"link,omitempty"`
}

// Module is a Go module; Sum as go.sum has it.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	Sum     string `json:"sum"`
}

// The uses of a package. A tool is not in the image.
const (
	System = "system"
	Kernel = "kernel"
	Tool   = "tool"
)

// Layout is the disk of an image.
func Layout(i spec.Image) Disk {
	d := Disk{GUID: i.DiskID(), Size: i.Disk()}
	for n, p := range i.Partitions {
		d.Partitions = append(d.Partitions, Partition{n + 1, p.Role, p.Label, p.Type, p.UUID, p.FS, p.Start, p.Size})
	}
	return d
}

// JSON writes the manifest, in the present form.
func (m *Manifest) JSON() ([]byte, error) {
	now := *m
	now.Format = format
	return encode("manifest", now)
}

func encode(what string, v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the %s: %w", what, err)
	}
	return append(data, '\n'), nil
}

// Read reads what JSON wrote.
func Read(data []byte) (*Manifest, error) {
	var form struct{ Format int }
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	if form.Format != format {
		return nil, fmt.Errorf("read the manifest: have format %d, want %d", form.Format, format)
	}
	m := &Manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("read the manifest: %w", err)
	}
	if len(m.Digest.SHA256) != 64 || m.Digest.Size <= 0 {
		return nil, fmt.Errorf("read the manifest: sha256 %q of %d bytes is no digest of an image", m.Digest.SHA256, m.Digest.Size)
	}
	end := int64(0)
	for _, r := range m.Digest.Mapped {
		if r.Start < end || r.Size <= 0 || r.Size > int64(m.Digest.Size) || r.Start > int64(m.Digest.Size)-r.Size {
			return nil, fmt.Errorf("read the manifest: mapped piece at %d of %d bytes overlaps another or the end", r.Start, r.Size)
		}
		end = r.Start + r.Size
	}
	return m, nil
}
