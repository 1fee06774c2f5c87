package debian

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"grove/builder/cache"
	"grove/builder/debian/debiantest"
	"grove/builder/fetch"
	"grove/internal/host"
	"grove/internal/spec"
	"grove/internal/step"
)

var some = []debiantest.Package{
	{Name: "mdadm", Version: "4.4-11", Arch: "amd64", Depends: "libc6 (>= 2.38), libudev1"},
	{Name: "libc6", Version: "2.41-12", Arch: "amd64", Depends: "libgcc-s1", Files: map[string]string{"lib/libc.so.6": "c"}},
	{Name: "libgcc-s1", Version: "14.2.0-19", Arch: "amd64", Depends: "libc6"},
	{Name: "libudev1", Version: "257.13-1~deb13u1", Arch: "amd64"},
}

// archive is a mirror with the three suites, and a client of it with an empty cache.
func archive(t *testing.T) (*debiantest.Mirror, Client) {
	t.Helper()
	m := debiantest.New(t)
	m.Publish("trixie", some...)
	m.Publish("trixie-updates")
	m.Publish("trixie-security", debiantest.Package{Name: "libudev1", Version: "257.13-1~deb13u2", Arch: "amd64"})
	c, err := cache.Open(t.TempDir(), host.Real{})
	if err != nil {
		t.Fatal(err)
	}
	return m, Client{
		Origin:  Origin{Suite: "trixie", Arch: spec.AMD64, Mirror: m.URL, Security: m.URL, Keyrings: []string{m.Keyring}},
		Fetcher: &fetch.Fetcher{Cache: c, Pause: time.Millisecond},
	}
}

func names(packages []Package) (all []string) {
	for _, p := range packages {
		all = append(all, p.String()+" "+p.Suite)
	}
	return all
}

// resolve gives what mdadm needs, and the warnings.
func resolve(t *testing.T, c Client) (packages []Package, warnings []string) {
	t.Helper()
	x, err := c.Index(t.Context(), step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	packages, err = x.Closure([]string{"mdadm"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return packages, x.Warnings
}

var (
	whole      = []string{"libc6 2.41-12 trixie", "libgcc-s1 14.2.0-19 trixie", "libudev1 257.13-1~deb13u2 trixie-security", "mdadm 4.4-11 trixie"}
	insecure   = []string{"libc6 2.41-12 trixie", "libgcc-s1 14.2.0-19 trixie", "libudev1 257.13-1~deb13u1 trixie", "mdadm 4.4-11 trixie"}
	security   = "dists/trixie-security/InRelease"
	mainIndex  = "dists/trixie/main/binary-amd64/Packages.gz"
	mainStates = "dists/trixie/InRelease"
)

func TestFromMirrorToFiles(t *testing.T) {
	m, c := archive(t)
	packages, warnings := resolve(t, c)
	if d := cmp.Diff(whole, names(packages)); d != "" || warnings != nil {
		t.Errorf("%s, warnings %q", d, warnings)
	}
	paths, err := c.Fetch(t.Context(), packages, step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(paths[0]); err != nil || !bytes.Equal(got, m.Deb(some[1])) {
		t.Errorf("libc6: %d bytes, %v; want the mirror's file", len(got), err)
	}
	m.Asked()
	resolve(t, c)
	if _, err := c.Fetch(t.Context(), packages, step.Silent{}); err != nil {
		t.Error(err)
	}
	if asked := m.Asked(); asked != nil {
		t.Errorf("the second time the mirror was asked for %q", asked)
	}
}

func TestReleasesAreAskedForAgainWhenOldOrTold(t *testing.T) {
	m, c := archive(t)
	resolve(t, c)
	m.Asked()
	c.Refresh = true
	resolve(t, c)
	states := []string{mainStates, security, "dists/trixie-updates/InRelease"}
	if asked := m.Asked(); !same(asked, states) {
		t.Errorf("with Refresh: asked for %q, want %q", asked, states)
	}
	c.Refresh = false
	age(t, c)
	if resolve(t, c); !same(m.Asked(), states) {
		t.Error("releases two hours old were not asked for")
	}
	if resolve(t, c); len(m.Asked()) != 0 {
		t.Error("releases just asked for were asked for again")
	}
}

// age makes the releases at hand two hours old.
func age(t *testing.T, c Client) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.Fetcher.Cache.Dir(), "state/debian/*.InRelease"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no releases at hand: %v", err)
	}
	for _, file := range files {
		then := time.Now().Add(-2 * time.Hour)
		if err := os.Chtimes(file, then, then); err != nil {
			t.Fatal(err)
		}
	}
}

func same(got, want []string) bool {
	got, want = slices.Clone(got), slices.Clone(want)
	slices.Sort(got)
	slices.Sort(want)
	return slices.Equal(got, want)
}

func TestMirrorsThatMakeDo(t *testing.T) {
	rows := []struct {
		name    string
		hurt    func(t *testing.T, m *debiantest.Mirror, c *Client)
		want    []string
		warning string // part of the only one; "" is none
	}{
		{"without the security suite", func(t *testing.T, m *debiantest.Mirror, c *Client) { m.Set(security, nil) },
			insecure, "trixie-security is left out: release of trixie-security"},
		{"with a security index that is not the release's", func(t *testing.T, m *debiantest.Mirror, c *Client) {
			m.Set("dists/trixie-security/main/binary-amd64/Packages.gz", []byte("of another day"))
		}, insecure, "the mirror lacks what its own release names"},
		{"without a security archive", func(t *testing.T, m *debiantest.Mirror, c *Client) { c.Origin.Security = "" },
			insecure, "GROVE_DEBIAN_SECURITY"},
		{"with the index under its hash only", func(t *testing.T, m *debiantest.Mirror, c *Client) {
			m.Release("trixie", m.Key, []string{"Acquire-By-Hash: yes"}, indexes(m))
			m.Set(mainIndex, []byte("of another day"))
		}, whole, ""},
		{"past its Valid-Until", func(t *testing.T, m *debiantest.Mirror, c *Client) {
			m.Release("trixie", m.Key, []string{"Valid-Until: Sat, 28 Nov 2020 09:15:44 UTC"}, indexes(m))
		}, whole, "was valid until 2020-11-28 09:15:44"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			m, c := archive(t)
			row.hurt(t, m, &c)
			packages, warnings := resolve(t, c)
			if d := cmp.Diff(row.want, names(packages)); d != "" {
				t.Error(d)
			}
			if row.warning == "" && warnings != nil || row.warning != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], row.warning)) {
				t.Errorf("warnings: got %q, want %q", warnings, row.warning)
			}
		})
	}
}

// indexes are those of the main suite as they are served.
func indexes(m *debiantest.Mirror) map[string][]byte {
	data := m.Set(mainIndex, nil)
	m.Set(mainIndex, data)
	return map[string][]byte{"main/binary-amd64/Packages.gz": data}
}

func TestWhatAMirrorLacksIsNotAskedForAtEachBuild(t *testing.T) {
	m, c := archive(t)
	whole := m.Set(security, nil)
	_, first := resolve(t, c)
	m.Asked()
	if _, warnings := resolve(t, c); !slices.Equal(warnings, first) || m.Asked() != nil {
		t.Errorf("the second build: warnings %q, want %q and nothing asked for", warnings, first)
	}
	m.Set(security, whole)
	c.Refresh = true
	if _, warnings := resolve(t, c); warnings != nil {
		t.Errorf("with Refresh: warnings %q", warnings)
	}
	c.Refresh = false
	if _, warnings := resolve(t, c); warnings != nil {
		t.Errorf("after Refresh: warnings %q", warnings)
	}
}

func TestAMirrorHealsWhileItIsAsked(t *testing.T) {
	m, c := archive(t)
	good := m.Set(mainIndex, []byte("of another day"))
	c.Fetcher.Pause = 60 * time.Millisecond
	time.AfterFunc(90*time.Millisecond, func() { m.Set(mainIndex, good) })
	packages, warnings := resolve(t, c)
	if d := cmp.Diff(whole, names(packages)); d != "" || warnings != nil {
		t.Errorf("%s, warnings %q", d, warnings)
	}
}

func TestMirrorsThatAreRefused(t *testing.T) {
	rows := []struct {
		name string
		hurt func(t *testing.T, m *debiantest.Mirror, c *Client)
		want string
		is   error
	}{
		{"signed by an unknown key", func(t *testing.T, m *debiantest.Mirror, c *Client) {
			m.Release("trixie", debiantest.NewKey(t), nil, indexes(m))
		}, "none of which is in", ErrSignature},
		{"security signed by an unknown key", func(t *testing.T, m *debiantest.Mirror, c *Client) {
			m.Release("trixie-security", debiantest.NewKey(t), nil, indexes(m))
		}, "release of trixie-security", ErrSignature},
		{"release changed after it was signed", func(t *testing.T, m *debiantest.Mirror, c *Client) {
			m.Set(mainStates, bytes.Replace(m.Set(mainStates, nil), []byte("Example"), []byte("Exemple"), 1))
		}, "signature does not match", ErrSignature},
		{"index changed", func(t *testing.T, m *debiantest.Mirror, c *Client) {
			data := bytes.Clone(m.Set(mainIndex, nil))
			data[len(data)-1] ^= 1
			m.Set(mainIndex, data)
		}, "have sha256", fetch.ErrContent},
		{"another suite in its place", func(t *testing.T, m *debiantest.Mirror, c *Client) {
			m.Set(mainStates, m.Set(security, nil))
		}, "it is of trixie-security", nil},
		{"no such suite", func(t *testing.T, m *debiantest.Mirror, c *Client) { c.Origin.Suite = "trixy" }, "404 Not Found", nil},
		{"no such architecture", func(t *testing.T, m *debiantest.Mirror, c *Client) { c.Origin.Arch = "m68k" }, "lists no packages for m68k", nil},
		{"nobody there", func(t *testing.T, m *debiantest.Mirror, c *Client) { c.Origin.Mirror = "http://127.0.0.1:1" }, "check the network", nil},
		{"offline with nothing at hand", func(t *testing.T, m *debiantest.Mirror, c *Client) { c.Fetcher.Offline = true }, "run once without --offline", fetch.ErrOffline},
		{"no keyring", func(t *testing.T, m *debiantest.Mirror, c *Client) { c.Origin.Keyrings = []string{"/nowhere"} }, "read the keyring", nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			m, c := archive(t)
			row.hurt(t, m, &c)
			_, err := c.Index(t.Context(), step.Silent{})
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("got %v, want %q", err, row.want)
			}
			if row.is != nil && !errors.Is(err, row.is) {
				t.Errorf("got %v, want it to be %v", err, row.is)
			}
		})
	}
}

func TestWhatIsAtHandServesWithoutTheMirror(t *testing.T) {
	_, c := archive(t)
	packages, _ := resolve(t, c)
	if _, err := c.Fetch(t.Context(), packages, step.Silent{}); err != nil {
		t.Fatal(err)
	}
	age(t, c)

	t.Run("offline, without a word", func(t *testing.T) {
		off := c
		off.Fetcher = &fetch.Fetcher{Cache: c.Fetcher.Cache, Offline: true}
		got, warnings := resolve(t, off)
		if d := cmp.Diff(whole, names(got)); d != "" || warnings != nil {
			t.Errorf("%s, warnings %q", d, warnings)
		}
		if _, err := off.Fetch(t.Context(), got, step.Silent{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("pinned, in another place, without any index", func(t *testing.T) {
		text, err := json.Marshal(packages)
		if err != nil {
			t.Fatal(err)
		}
		var read []Package
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		pinned, err := Pinned(read)
		if err != nil {
			t.Fatal(err)
		}
		off := Client{Fetcher: &fetch.Fetcher{Cache: c.Fetcher.Cache, Offline: true}}
		if _, err := off.Fetch(t.Context(), pinned, step.Silent{}); err != nil {
			t.Error(err)
		}
	})
}

func TestABrokenMirrorIsMadeUpForByWhatIsAtHand(t *testing.T) {
	m, c := archive(t)
	resolve(t, c)
	age(t, c)
	m.Set(mainStates, nil)
	packages, warnings := resolve(t, c)
	if d := cmp.Diff(whole, names(packages)); d != "" {
		t.Error(d)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "trixie is as of ") || !strings.Contains(warnings[0], "404") {
		t.Errorf("warnings: got %q", warnings)
	}
	m.Release("trixie", debiantest.NewKey(t), nil, indexes(m))
	if _, err := c.Index(t.Context(), step.Silent{}); !errors.Is(err, ErrSignature) {
		t.Errorf("a wrong signature: got %v, want it refused", err)
	}
}

func TestAPackageThatIsGone(t *testing.T) {
	m, c := archive(t)
	packages, _ := resolve(t, c)
	m.Set(packages[0].Filename, nil)
	_, err := c.Fetch(t.Context(), packages, step.Silent{})
	if err == nil || !strings.Contains(err.Error(), "download libc6 2.41-12") || !strings.Contains(err.Error(), "a newer version may have taken its place") {
		t.Errorf("got %v", err)
	}
	m.Set(packages[0].Filename, []byte("evil"))
	if _, err := c.Fetch(t.Context(), packages, step.Silent{}); !errors.Is(err, fetch.ErrContent) {
		t.Errorf("another file in its place: got %v", err)
	}
}

func TestPinnedRefusesWhatCannotBeFetched(t *testing.T) {
	good := Package{Name: "a", Version: "1", Suite: "trixie", Filename: "pool/a.deb", Size: 5, SHA256: strings.Repeat("ab", 32)}
	for want, spoil := range map[string]func(p *Package){
		"version or suite is missing": func(p *Package) { p.Suite = "" },
		"is not a SHA-256":            func(p *Package) { p.SHA256 = strings.Repeat("AB", 32) },
		"the path of a .deb":          func(p *Package) { p.Filename = "../../etc/x.deb" },
		"its size is missing":         func(p *Package) { p.Size = 0 },
	} {
		p := good
		spoil(&p)
		if _, err := Pinned([]Package{good, p}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if got, err := Pinned([]Package{good}); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestWhoHas(t *testing.T) {
	m, c := archive(t)
	x, err := c.Index(t.Context(), step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.WhoHas(t.Context(), "libc.so.6"); err == nil || !strings.Contains(err.Error(), "lists no contents") {
		t.Errorf("an archive without contents: got %v", err)
	}
	list := debiantest.Gzip(t, "usr/lib/x86_64-linux-gnu/libssl.so.3                libs/libssl3t64\n")
	with := indexes(m)
	with["main/Contents-amd64.gz"] = list
	m.Release("trixie", m.Key, nil, with)
	c.Refresh = true
	if x, err = c.Index(t.Context(), step.Silent{}); err != nil {
		t.Fatal(err)
	}
	if got, err := x.WhoHas(t.Context(), "libssl.so.3"); err != nil || !slices.Equal(got, []string{"libssl3t64"}) {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := x.WhoHas(t.Context(), "libssl.so.1.1"); err != nil || got != nil {
		t.Errorf("a file that no package has: got %q, %v", got, err)
	}
	if got, err := x.Known([]string{"libssl1.0.0", "libc6"}); err != nil || !slices.Equal(got, []string{"libc6"}) {
		t.Errorf("names that the index has: got %q, %v", got, err)
	}
}
