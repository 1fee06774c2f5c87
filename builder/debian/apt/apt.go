// Package apt finds Debian's own archive in the host's apt configuration, so that an image is built from the mirror that the person already chose.
//
// It reads /etc/apt/sources.list, sources.list.d/*.list (a line an entry) and *.sources (stanzas), as sources.list(5) describes them. Third-party
// repositories often copy Debian's suite names, so an entry counts only when it has the component main and is signed by the Debian archive's keyring
// or, naming no keyring at all, has a suite of Debian. Whether the archive is genuine is proven later, by its signature.
package apt

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Sources are the two addresses; each is "" when apt names none.
type Sources struct{ Mirror, Security string }

// Entry is one archive as apt knows it.
type Entry struct {
	URI        string
	Suites     []string
	Components []string
	SignedBy   string
}

// Find reads the configuration below root, which is / but in tests. A host without apt gives no sources.
func Find(root string) Sources {
	var entries []Entry
	for _, pattern := range []string{"sources.list", "sources.list.d/*.list", "sources.list.d/*.sources"} {
		files, _ := filepath.Glob(filepath.Join(root, "etc/apt", pattern)) // the patterns are valid, and a folder that is missing holds nothing
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // apt passes over it too, with a notice
			}
			if path.Ext(file) == ".sources" {
				entries = append(entries, Stanzas(string(text))...)
			} else {
				entries = append(entries, Lines(string(text))...)
			}
		}
	}
	for i := range entries {
		entries[i].URI = list(root, entries[i].URI)
	}
	return Choose(entries)
}

// list follows mirror+file:, an address that stands in a file of addresses, as Debian's cloud images have it.
func list(root, uri string) string {
	file, is := strings.CutPrefix(uri, "mirror+file:")
	if !is {
		return uri
	}
	text, err := os.ReadFile(filepath.Join(root, strings.TrimPrefix(file, "//")))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "#") {
			return words[0]
		}
	}
	return ""
}

// Choose picks the archive and the security archive: those with Debian's keyring first, then those whose address ends in the archive's usual name.
func Choose(entries []Entry) Sources {
	var s Sources
	var best, bestSecurity int
	for _, e := range entries {
		rank := e.rank()
		for _, suite := range e.Suites {
			uri := strings.TrimRight(e.URI, "/")
			switch security := strings.HasSuffix(suite, "-security") || strings.HasSuffix(suite, "/updates"); {
			case security && rank > bestSecurity:
				s.Security, bestSecurity = uri, rank
			case !security && rank > best:
				s.Mirror, best = uri, rank
			}
		}
	}
	return s
}

// rank is 0 for what is not Debian's own archive.
func (e Entry) rank() int {
	if !strings.HasPrefix(e.URI, "http://") && !strings.HasPrefix(e.URI, "https://") || !slices.Contains(e.Components, "main") {
		return 0
	}
	rank := 0
	switch {
	case strings.HasPrefix(path.Base(e.SignedBy), "debian-archive-"):
		rank = 3
	case e.SignedBy == "" && slices.ContainsFunc(e.Suites, debian):
		rank = 1
	default:
		return 0
	}
	if base := path.Base(strings.TrimRight(e.URI, "/")); base == "debian" || base == "debian-security" {
		rank++
	}
	return rank
}

// debian says whether a suite is named as Debian names its own.
func debian(suite string) bool {
	name, _, _ := strings.Cut(suite, "/")
	for _, tail := range []string{"-updates", "-security", "-backports", "-proposed-updates"} {
		name = strings.TrimSuffix(name, tail)
	}
	switch name {
	case "buster", "bullseye", "bookworm", "trixie", "forky", "duke", "sid", "oldoldstable", "oldstable", "stable", "testing", "unstable":
		return true
	}
	return false
}
