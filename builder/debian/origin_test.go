package debian

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"grove/internal/spec"
)

func TestDiscover(t *testing.T) {
	host := map[string]string{
		"etc/apt/sources.list":                               "deb http://a.example.org/debian/ bookworm main\ndeb http://b.example.org/debian-security bookworm-security main\n",
		"usr/share/keyrings/debian-archive-keyring.gpg":      "",
		"usr/share/keyrings/debian-archive-trixie-x.gpg":     "",
		"usr/share/keyrings/debian-archive-removed-keys.gpg": "",
	}
	split := map[string]string{
		"usr/share/keyrings/debian-archive-removed-keys.gpg": "", "usr/share/keyrings/debian-archive-trixie-stable.gpg": "", "usr/share/keyrings/vendor.gpg": "",
	}
	rows := []struct {
		name  string
		want  spec.Debian
		env   map[string]string
		files map[string]string
		out   string // mirror, security, keyrings; or part of the error behind "!"
	}{
		{"the host's apt", spec.Debian{}, nil, host, "http://a.example.org/debian http://b.example.org/debian-security debian-archive-keyring.gpg"},
		{"the recipe before all", spec.Debian{Mirror: "http://r.example.org/debian/", Keyring: "/r.gpg"}, map[string]string{"GROVE_DEBIAN_MIRROR": "http://e.example.org", "GROVE_DEBIAN_KEYRING": "/e.gpg"}, host,
			"http://r.example.org/debian - r.gpg"},
		{"the environment before apt, and no security archive from there", spec.Debian{}, map[string]string{"GROVE_DEBIAN_MIRROR": "http://e.example.org/", "GROVE_DEBIAN_KEYRING": "/e.gpg"}, host,
			"http://e.example.org - e.gpg"},
		{"a security archive of its own", spec.Debian{}, map[string]string{"GROVE_DEBIAN_SECURITY": "http://s.example.org/"}, host,
			"http://a.example.org/debian http://s.example.org debian-archive-keyring.gpg"},
		{"separate keyrings, without the removed keys", spec.Debian{Mirror: "http://r.example.org"}, nil, split, "http://r.example.org - debian-archive-trixie-stable.gpg"},
		{"no apt", spec.Debian{}, nil, nil, "!set debian.mirror in the recipe or GROVE_DEBIAN_MIRROR"},
		{"no keyring", spec.Debian{Mirror: "http://r.example.org"}, nil, nil, "!install the package debian-archive-keyring"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range row.files {
				file := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			o, err := discover(row.want, spec.AMD64, root, func(key string) string { return row.env[key] })
			if want, fails := strings.CutPrefix(row.out, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := []string{o.Mirror, o.Security}
			for _, file := range o.Keyrings {
				got = append(got, filepath.Base(file))
			}
			want := strings.Fields(strings.ReplaceAll(row.out, " - ", " \x00 "))
			for i := range want {
				want[i] = strings.Trim(want[i], "\x00")
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
