package initramfs

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"grove/internal/host"
)

func readers(texts []string) (all []io.Reader) {
	for _, t := range texts {
		all = append(all, strings.NewReader(t))
	}
	return all
}

// machine is a host whose go command prints version, or none when version is empty.
type machine struct {
	*host.Fake
	version string
}

func (m machine) Look(name string) string {
	if m.version == "" {
		return ""
	}
	return m.Fake.Look(name)
}

func withGo(version string) machine {
	return machine{&host.Fake{Programs: func(host.Command) (string, error) { return version + "\n", nil }}, version}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFindSource(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{
		"grove/go.mod": "module grove\n\ngo 1.26.0\n", "grove/builder/kernel/x": "", "other/go.mod": "module grove.example\n\ngo 1.26.0\n", "empty/x": "",
	})
	for _, test := range []struct {
		name, env, version string
		starts             []string
		want               string // folder, or the text of an error
	}{
		{"the folder itself", "", "go1.26.0", []string{"grove"}, "grove"},
		{"a folder above", "", "go1.26.8", []string{"grove/builder/kernel"}, "grove"},
		{"the second of two starts", "", "go1.27.1", []string{"empty", "grove"}, "grove"},
		{"GROVE_SOURCE before the starts", "grove", "go1.26.0", []string{"empty"}, "grove"},
		{"GROVE_SOURCE of another module is no reason to look elsewhere", "other", "go1.26.0", []string{"grove"}, "other holds no go.mod of the module grove"},
		{"only another module's go.mod", "", "go1.26.0", []string{"other"}, "run grove inside its repository or set GROVE_SOURCE"},
		{"no Go", "", "", []string{"grove"}, "find Go: there is no go in PATH; the agent and the commands of a node are built with go1.26.0 or newer"},
		{"an old Go", "", "go1.19.8", []string{"grove"}, "use /usr/bin/go: have go1.19.8, want go1.26.0 or newer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var starts []string
			for _, s := range test.starts {
				starts = append(starts, filepath.Join(top, s))
			}
			t.Setenv("GROVE_SOURCE", "")
			if test.env != "" {
				t.Setenv("GROVE_SOURCE", filepath.Join(top, test.env))
			}
			got, err := FindSource(t.Context(), withGo(test.version), starts...)
			if err != nil {
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v; want %s", err, test.want)
				}
				return
			}
			if got.Dir != filepath.Join(top, test.want) || got.Version != test.version {
				t.Errorf("got %s with %s; want %s with %s", got.Dir, got.Version, test.want, test.version)
			}
		})
	}
}

func TestHashFollowsWhatIsCompiled(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"go.mod": "module grove\n", "go.sum": "", "firstboot/main.go": "package main", "firstboot/pid1/a.go": "package pid1"})
	hash := func() string {
		inputs, err := Source{Dir: dir}.hash("firstboot")
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, in := range inputs {
			all = append(all, in.Name+"="+in.Value)
		}
		return strings.Join(all, " ")
	}
	before := hash()
	write(t, dir, map[string]string{"firstboot/main_test.go": "x", "firstboot/testdata/big": "x", "README.md": "x"})
	if hash() != before {
		t.Error("a test, its data or a file elsewhere changes the hash")
	}
	for _, change := range []map[string]string{{"firstboot/pid1/a.go": "package pid1 //"}, {"firstboot/pid1/page.html": "embedded"}, {"go.sum": "x"}} {
		write(t, dir, change)
		if now := hash(); now == before {
			t.Errorf("%v does not change the hash", change)
		} else {
			before = now
		}
	}
	if _, err := (Source{Dir: dir}).hash("absent"); err == nil || !strings.Contains(err.Error(), "read Grove's source: ") {
		t.Errorf("a folder that is not there: got %v", err)
	}
}
