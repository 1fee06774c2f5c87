// Package debiantest serves a small Debian archive on loopback, signed with a key of its own, for tests of what reads one.
//
// Whatever it serves can be changed afterwards, to be a mirror that is broken in some way.
package debiantest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Mirror is the server. Mirror and security archive are one.
type Mirror struct {
	URL     string
	Keyring string // file with the public key
	Key     *openpgp.Entity

	mu    sync.Mutex
	files map[string][]byte
	asked []string
	t     testing.TB
}

// Package is one to be published; Files are their contents by path, with mode 0644, or 0755 for scripts.
type Package struct {
	Name, Version, Arch, Depends, Provides string
	Files                                  map[string]string
}

// New starts an empty mirror, which ends with the test.
func New(t testing.TB) *Mirror {
	t.Helper()
	m := &Mirror{files: map[string][]byte{}, t: t, Key: NewKey(t)}
	m.Keyring = filepath.Join(t.TempDir(), "keyring.gpg")
	var ring bytes.Buffer
	m.must(m.Key.Serialize(&ring))
	m.must(os.WriteFile(m.Keyring, ring.Bytes(), 0o644))
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.URL = server.URL
	return m
}

// NewKey makes a key to sign with.
func NewKey(t testing.TB) *openpgp.Entity {
	t.Helper()
	key, err := openpgp.NewEntity("Archive", "", "archive@example.org", &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return time.Now().AddDate(-1, 0, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// ServeHTTP answers as a mirror does, Range included.
func (m *Mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	m.mu.Lock()
	data, found := m.files[name]
	m.asked = append(m.asked, name)
	m.mu.Unlock()
	if !found {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// Asked lists the paths that were asked for since the last call.
func (m *Mirror) Asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := m.asked
	m.asked = nil
	return asked
}

// Set serves data at a path; nil takes the path away. It gives what stood there.
func (m *Mirror) Set(name string, data []byte) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.files[name]
	if m.files[name] = data; data == nil {
		delete(m.files, name)
	}
	return old
}

// Publish makes a suite of the packages, those of arch all and of each architecture named by one of them, and amd64 in any case.
func (m *Mirror) Publish(suite string, packages ...Package) {
	m.t.Helper()
	archs := []string{"amd64"}
	index := map[string]*bytes.Buffer{}
	for _, p := range packages {
		if p.Arch != "all" && !slices.Contains(archs, p.Arch) {
			archs = append(archs, p.Arch)
		}
	}
	for _, arch := range archs {
		index[arch] = new(bytes.Buffer)
	}
	for _, p := range packages {
		for _, arch := range archs {
			if p.Arch == "all" || p.Arch == arch {
				m.stanza(index[arch], p)
			}
		}
	}
	indexes := map[string][]byte{}
	for _, arch := range archs {
		indexes["main/binary-"+arch+"/Packages"] = index[arch].Bytes()
		indexes["main/binary-"+arch+"/Packages.gz"] = m.zip(index[arch].Bytes())
	}
	m.Release(suite, m.Key, nil, indexes)
}

// Release signs and serves a suite's InRelease over the indexes, with more header fields, and the indexes themselves but the uncompressed ones.
func (m *Mirror) Release(suite string, key *openpgp.Entity, header []string, indexes map[string][]byte) {
	m.t.Helper()
	lines := append([]string{"Origin: Example", "Suite: " + suite, "Codename: " + suite, "Date: " + time.Now().UTC().Format(time.RFC1123)}, header...)
	lines = append(lines, "SHA256:")
	for _, name := range slices.Sorted(maps.Keys(indexes)) {
		data := indexes[name]
		lines = append(lines, fmt.Sprintf(" %x %d %s", sha256.Sum256(data), len(data), name))
		if path.Ext(name) != "" {
			m.Set("dists/"+suite+"/"+name, data)
			m.Set(fmt.Sprintf("dists/%s/%s/by-hash/SHA256/%x", suite, path.Dir(name), sha256.Sum256(data)), data)
		}
	}
	var signed bytes.Buffer
	w, err := clearsign.Encode(&signed, key.PrivateKey, nil)
	m.must(err)
	_, err = io.WriteString(w, strings.Join(lines, "\n")+"\n")
	m.must(err)
	m.must(w.Close())
	m.Set("dists/"+suite+"/InRelease", signed.Bytes())
}

// stanza writes a package's lines of the index and serves its file.
func (m *Mirror) stanza(w io.Writer, p Package) {
	_, version, epoch := strings.Cut(p.Version, ":")
	if !epoch {
		version = p.Version
	}
	file := fmt.Sprintf("pool/%s_%s_%s.deb", p.Name, version, p.Arch)
	deb := m.Deb(p)
	m.Set(file, deb)
	fmt.Fprintf(w, "Package: %s\nVersion: %s\nArchitecture: %s\n", p.Name, p.Version, p.Arch)
	if p.Depends != "" {
		fmt.Fprintf(w, "Depends: %s\n", p.Depends)
	}
	if p.Provides != "" {
		fmt.Fprintf(w, "Provides: %s\n", p.Provides)
	}
	fmt.Fprintf(w, "Filename: %s\nSize: %d\nSHA256: %x\n\n", file, len(deb), sha256.Sum256(deb))
}

// Deb makes the package's file.
func (m *Mirror) Deb(p Package) []byte {
	var data bytes.Buffer
	w := tar.NewWriter(&data)
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		mode := int64(0o644)
		if strings.HasPrefix(p.Files[name], "#!") {
			mode = 0o755
		}
		m.must(w.WriteHeader(&tar.Header{Name: "./" + name, Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(p.Files[name]))}))
		_, err := io.WriteString(w, p.Files[name])
		m.must(err)
	}
	m.must(w.Close())
	var deb bytes.Buffer
	deb.WriteString("!<arch>\n")
	control := m.zip([]byte(p.Name + " " + p.Version)) // nobody reads it; it makes packages of different versions differ
	for _, member := range []struct {
		name string
		data []byte
	}{{"debian-binary", []byte("2.0\n")}, {"control.tar.gz", control}, {"data.tar.gz", m.zip(data.Bytes())}} {
		fmt.Fprintf(&deb, "%-16s%-12d%-6d%-6d%-8s%-10d`\n%s", member.name, 0, 0, 0, "100644", len(member.data), member.data)
		if len(member.data)%2 == 1 {
			deb.WriteByte('\n')
		}
	}
	return deb.Bytes()
}

// Gzip compresses a text.
func Gzip(t testing.TB, text string) []byte {
	t.Helper()
	return (&Mirror{t: t}).zip([]byte(text))
}

func (m *Mirror) zip(data []byte) []byte {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write(data)
	m.must(err)
	m.must(w.Close())
	return zipped.Bytes()
}

func (m *Mirror) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}
