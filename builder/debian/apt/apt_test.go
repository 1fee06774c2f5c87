package apt

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFind(t *testing.T) {
	const own = `Types: deb
# the archive as of some day
URIs: http://mirror.example.org/debian/
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example.org/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`
	both := Sources{"http://mirror.example.org/debian", "http://mirror.example.org/debian-security"}
	rows := []struct {
		name  string
		files map[string]string
		want  Sources
	}{
		{"no apt at all", nil, Sources{}},
		{"stanzas", map[string]string{"sources.list.d/debian.sources": own}, both},
		{"stanzas behind third parties that come first", map[string]string{
			"sources.list.d/a.list":         "deb http://packages.example.org/apt cloud-sdk-bookworm main\ndeb [signed-by=/usr/share/keyrings/vendor.gpg] http://packages.example.org/debian bookworm main\n",
			"sources.list.d/b.sources":      "Types: deb\nURIs: http://node.example.org/node_20.x\nSuites: nodistro\nComponents: main\nSigned-By: /usr/share/keyrings/node.gpg\n",
			"sources.list":                  "deb http://packages.example.org/unsigned bookworm main\n",
			"sources.list.d/debian.sources": own,
		}, both},
		{"lines, with options, comments and sources", map[string]string{"sources.list": `# deb http://old.example.org/debian trixie main
deb-src http://src.example.org/debian trixie main
deb cdrom:[Debian 13]/ trixie main
deb	[ arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg ]  https://mirror.example.org/debian  trixie main contrib # here
deb http://security.example.org/debian-security trixie-security main
`}, Sources{"https://mirror.example.org/debian", "http://security.example.org/debian-security"}},
		{"the older name of the security suite", map[string]string{"sources.list": "deb http://a.example.org/debian buster main\ndeb http://b.example.org/debian-security buster/updates main\n"},
			Sources{"http://a.example.org/debian", "http://b.example.org/debian-security"}},
		{"an archive without security", map[string]string{"sources.list": "deb http://a.example.org/debian sid main\n"}, Sources{Mirror: "http://a.example.org/debian"}},
		{"switched off", map[string]string{"sources.list.d/debian.sources": "Enabled: no\nTypes: deb\nURIs: http://a.example.org/debian\nSuites: sid\nComponents: main\n"}, Sources{}},
		{"only a vendor's, on another distribution", map[string]string{"sources.list": "deb http://archive.example.org/ubuntu noble main universe\n"}, Sources{}},
		{"a component other than main", map[string]string{"sources.list": "deb http://docker.example.org/linux/debian bookworm stable\n"}, Sources{}},
		{"addresses in a file", map[string]string{
			"sources.list.d/debian.sources": "Types: deb deb-src\nURIs: mirror+file:///etc/apt/mirrors/debian.list\nSuites: trixie\nComponents: main\n",
			"mirrors/debian.list":           "# ours\nhttps://cdn.example.org/debian\n",
		}, Sources{Mirror: "https://cdn.example.org/debian"}},
		{"a key written into the stanza is not Debian's keyring", map[string]string{
			"sources.list.d/x.sources": "Types: deb\nURIs: http://x.example.org/debian\nSuites: trixie\nComponents: main\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n",
		}, Sources{}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range row.files {
				file := filepath.Join(root, "etc/apt", name)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := Find(root); got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}
