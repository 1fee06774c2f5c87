// Package debian takes packages straight from a Debian mirror: which there are, which belong together, their files.
//
// Nothing is installed and nothing of the host's package database is used. The way is apt's: an InRelease signed by a key of the Debian keyring vouches for
// an index by its hash, the index for each package by its hash. Three suites are read: SUITE, SUITE-updates and, from the security archive,
// SUITE-security; of a package with several versions the highest is taken. A mirror in the middle of its own update is asked again for some
// seconds. Then only the suite itself is worth an error: the other two are left out with a warning.
//
// Limits: the component main; no conflicts, no recommendations; maintainer scripts are not run.
package debian

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"grove/internal/size"
)

// Package is one version of one package. Its fields stand in an image's manifest and are enough to fetch it again.
type Package struct {
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Arch     string    `json:"arch"`   // amd64, or all
	Source   string    `json:"source"` // source package, with its version in brackets where that differs
	Suite    string    `json:"suite"`
	Filename string    `json:"filename"` // below the mirror's address
	Size     size.Size `json:"size"`
	SHA256   string    `json:"sha256"`

	depends string // pre-dependencies and dependencies, as Debian writes them
}

// String is the package as a person names it: libc6 2.41-12.
func (p Package) String() string { return p.Name + " " + p.Version }

// Pinned takes packages out of a manifest, to be fetched without any index.
func Pinned(packages []Package) ([]Package, error) {
	for _, p := range packages {
		switch {
		case p.Name == "" || p.Version == "" || p.Suite == "":
			return nil, fmt.Errorf("pinned package %q: name, version or suite is missing", p.Name)
		case len(p.SHA256) != 64 || strings.Trim(p.SHA256, "0123456789abcdef") != "":
			return nil, fmt.Errorf("pinned package %s: %q is not a SHA-256", p, p.SHA256)
		case !filepath.IsLocal(p.Filename) || path.Ext(p.Filename) != ".deb":
			return nil, fmt.Errorf("pinned package %s: want the path of a .deb on the mirror, have %q", p, p.Filename)
		case p.Size <= 0:
			return nil, fmt.Errorf("pinned package %s: its size is missing", p)
		}
	}
	return packages, nil
}
