// Package release reads a Debian archive's InRelease file: who signed it, which suite it is, and the hash of every index it vouches for.
//
// It decides only; nothing here touches the network. One valid signature by a key of the keyring is enough, as it is for apt: Debian signs each suite
// with two or three keys of different ages.
package release

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
)

// Release is what a verified InRelease says.
type Release struct {
	Suite      string // stable
	Codename   string // trixie
	Date       time.Time
	ValidUntil time.Time       // zero: for ever
	ByHash     bool            // indexes can be had under their hash too
	Files      map[string]File // by path under the suite: main/binary-amd64/Packages.xz
	OldKey     string          // the signing key, when it has expired since it signed
}

// File is an index that the release vouches for.
type File struct {
	SHA256 string
	Size   int64
}

// ErrSignature is an InRelease without a valid signature by a known key.
var ErrSignature = errors.New("signature does not match")

// Read verifies the text of an InRelease and reads it. What stands outside of the signed part is ignored.
func Read(text []byte, keys Keyring) (*Release, error) {
	block, _ := clearsign.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%w: the file is not signed", ErrSignature)
	}
	old, err := keys.verify(block)
	if err != nil {
		return nil, err
	}
	r, err := parse(block.Plaintext)
	if err != nil {
		return nil, err
	}
	r.OldKey = old
	return r, nil
}

// Is says whether the release goes by this name: trixie, stable, trixie-security.
func (r *Release) Is(suite string) bool { return suite == r.Suite || suite == r.Codename }

func parse(text []byte) (*Release, error) {
	r := &Release{Files: map[string]File{}}
	lines := bufio.NewScanner(bytes.NewReader(text))
	section := ""
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, " ") {
			if section == "SHA256" {
				if err := r.file(line); err != nil {
					return nil, err
				}
			}
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		section = key
		if err := r.field(key, strings.TrimSpace(value)); err != nil {
			return nil, err
		}
	}
	if len(r.Files) == 0 {
		return nil, errors.New("the release lists no SHA256 of any index")
	}
	return r, lines.Err()
}

func (r *Release) field(key, value string) (err error) {
	switch key {
	case "Suite":
		r.Suite = value
	case "Codename":
		r.Codename = value
	case "Acquire-By-Hash":
		r.ByHash = value == "yes"
	case "Date":
		r.Date, err = date(value)
	case "Valid-Until":
		r.ValidUntil, err = date(value)
	}
	if err != nil {
		return fmt.Errorf("%s of the release: %w", key, err)
	}
	return nil
}

// date reads RFC 1123 with the zone as UTC or as a number, both of which occur.
func date(value string) (time.Time, error) {
	if t, err := time.Parse(time.RFC1123Z, value); err == nil {
		return t, nil
	}
	return time.Parse(time.RFC1123, value)
}

// file reads ` HASH SIZE PATH`.
func (r *Release) file(line string) error {
	words := strings.Fields(line)
	if len(words) != 3 || len(words[0]) != 64 {
		return fmt.Errorf("line of the release %q: want a hash, a size and a path", line)
	}
	n, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return fmt.Errorf("size of %s in the release: %w", words[2], err)
	}
	r.Files[words[2]] = File{SHA256: words[0], Size: n}
	return nil
}
