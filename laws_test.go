package grove

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The laws of the house (design 7), held over the import graph of everything but tests.

type file struct {
	path    string // builder/cli/cli.go
	room    string // builder/cli
	imports []string
	lines   int
}

func house(t *testing.T) []file {
	t.Helper()
	var all []file
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (strings.HasPrefix(d.Name(), ".") && p != "." || p == "out" || p == "bin") {
			return cmpSkip(err, d)
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), p, data, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		f := file{path: filepath.ToSlash(p), room: path.Dir(filepath.ToSlash(p)), lines: strings.Count(string(data), "\n")}
		for _, i := range parsed.Imports {
			name, _ := strconv.Unquote(i.Path.Value)
			f.imports = append(f.imports, name)
		}
		all = append(all, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("only %d files of Go seen: the walk is wrong", len(all))
	}
	return all
}

func cmpSkip(err error, d fs.DirEntry) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

func under(p string, rooms ...string) bool {
	return slices.ContainsFunc(rooms, func(r string) bool { return p == r || strings.HasPrefix(p, r+"/") })
}

// broken tells which law an import breaks, or "".
func broken(room, imported string) string {
	ours, isOurs := strings.CutPrefix(imported, "grove/")
	switch {
	case under(room, "builder") && isOurs && under(ours, "firstboot"), under(room, "firstboot") && isOurs && under(ours, "builder"):
		return "1: no import crosses the wings"
	case under(room, "internal") && isOurs && under(ours, "builder", "firstboot"):
		return "1: internal imports neither wing"
	case under(imported, "os/exec", "syscall", "golang.org/x/sys/unix") && !under(room, "internal/host", "firstboot/pid1", "accept/mongod32"): // the last is a program in the place of another's
		return "2: one door: only internal/host and PID 1 touch exec, syscall, unix"
	case under(room, "internal/size", "internal/diag", "internal/spec", "builder/resolve", "builder/plan") &&
		slices.Contains([]string{"os", "os/exec", "net", "net/http", "math/rand", "math/rand/v2", "crypto/rand", "time"}, imported):
		return "3: deciding packages import no os, net or rand and read no clock"
	case under(room, "builder/flash", "builder/register", "builder/lab") && isOurs && under(ours, "builder/catalog", "builder/resolve", "builder/plan"):
		return "4: flash, register, lab see artifact, never recipes"
	}
	return ""
}

func TestLawsOfImports(t *testing.T) {
	for _, f := range house(t) {
		for _, i := range f.imports {
			if law := broken(f.room, i); law != "" {
				t.Errorf("%s imports %s: law %s", f.path, i, law)
			}
		}
	}
}

// A law that nothing could break would be worth nothing.
func TestLawsRefuse(t *testing.T) {
	for _, c := range []struct{ room, imported, law string }{
		{"builder/cli", "grove/firstboot/agent", "1"}, {"firstboot/agent", "grove/builder/cache", "1"}, {"internal/size", "grove/builder/cache", "1"},
		{"builder/mongod", "os/exec", "2"}, {"firstboot/agent", "golang.org/x/sys/unix", "2"}, {"internal/host", "os/exec", ""}, {"firstboot/pid1", "syscall", ""},
		{"builder/plan", "os", "3"}, {"builder/resolve", "net/http", "3"}, {"internal/spec", "time", "3"}, {"builder/resolve", "net/url", ""},
		{"builder/lab", "grove/builder/resolve", "4"}, {"builder/lab", "grove/builder/artifact", ""},
	} {
		if got, _, _ := strings.Cut(broken(c.room, c.imported), ":"); got != c.law {
			t.Errorf("%s imports %s: got law %q; want %q", c.room, c.imported, got, c.law)
		}
	}
}

func TestLawOfNames(t *testing.T) {
	for _, f := range house(t) {
		if name := path.Base(f.room); slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc", "base", "types", "models", "manager"}, name) {
			t.Errorf("%s: law 6: a room called %s", f.path, name)
		}
		if f.lines > 300 {
			t.Errorf("%s: %d lines; a file ends at 300", f.path, f.lines)
		}
	}
}

func TestLawOfVoices(t *testing.T) {
	for _, f := range house(t) {
		if under(f.room, "builder/cli", "firstboot/agent", "firstboot/pid1", "accept") || f.path == "builder/main.go" || f.path == "firstboot/main.go" {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, voice := range voices(parsed) {
			t.Errorf("%s: law 5 and 6: holds %s", f.path, voice)
		}
	}
}

// voices finds what prints, ends the program, or runs before it is called.
func voices(f *ast.File) []string {
	var found []string
	logs := slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"log"` })
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				found = append(found, "func init")
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				name := x.Name + "." + n.Sel.Name
				if strings.HasPrefix(name, "fmt.Print") || logs && x.Name == "log" || slices.Contains([]string{"os.Exit", "os.Stdout", "os.Stderr"}, name) {
					found = append(found, name)
				}
			}
		}
		return true
	})
	return found
}

func TestVoicesAreHeard(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc init() { fmt.Println(1); os.Exit(2) }\nfunc (x) init() {}\nvar a = `os.Exit`", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(voices(parsed), ", "), "func init, fmt.Println, os.Exit"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}
