package initramfs

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/builder/cache"
	"grove/builder/catalog"
	"grove/builder/kernel"
	"grove/builder/resolve"
	"grove/internal/host"
	"grove/internal/spec"
)

func open(t *testing.T, dir string) *cache.Cache {
	t.Helper()
	c, err := cache.Open(dir, host.Real{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// builds is a machine on which go build writes the package's name and the wanted processor, and counts.
func builds(count *int, fail error) machine {
	return machine{&host.Fake{Programs: func(c host.Command) (string, error) {
		*count++
		arch := ""
		for _, e := range c.Env {
			if v, found := strings.CutPrefix(e, "GOARCH="); found {
				arch = v
			}
		}
		for i, a := range c.Args {
			if a == "-o" && fail == nil {
				return "", os.WriteFile(c.Args[i+1], []byte(c.Args[len(c.Args)-1]+" for "+arch), 0o755)
			}
		}
		return "", fail
	}}, "go1.26.0"}
}

func TestAgentIsBuiltOnceForTheSameSource(t *testing.T) {
	dir, built := t.TempDir(), 0
	write(t, dir, map[string]string{"go.mod": "module grove\n", "go.sum": "", "firstboot/main.go": "package main", "internal/a/a.go": "package a"})
	m := Maker{Cache: open(t, t.TempDir()), Source: Source{Dir: dir, Go: "go", Version: "go1.26.0", host: builds(&built, nil)}, Image: "demo", Arch: spec.ARMHF}
	for _, test := range []struct {
		name   string
		change map[string]string
		reused bool
		why    string
		built  int
	}{
		{"first", nil, false, "first build", 1},
		{"again", nil, true, "nothing changed", 1},
		{"its source changed", map[string]string{"firstboot/main.go": "package main // changed"}, false, "firstboot changed", 2},
		{"a test changed", map[string]string{"firstboot/main_test.go": "package main"}, true, "nothing changed", 2},
		{"a dependency changed", map[string]string{"go.sum": "x"}, false, "go.sum changed", 3},
	} {
		write(t, dir, test.change)
		path, out, err := m.Agent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if out.Reused != test.reused || out.Why != test.why || built != test.built {
			t.Errorf("%s: got reused %v, %q, built %d times; want %v, %q, %d times", test.name, out.Reused, out.Why, built, test.reused, test.why, test.built)
		}
		packed, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		plain := unzstd(t, packed)
		want := []string{
			"-rwxr-xr-x 0 0 19 Jan 1 1970 init", "lrwxrwxrwx 0 0 5 Jan 1 1970 bbin/poweroff -> /init", "lrwxrwxrwx 0 0 5 Jan 1 1970 bbin/reboot -> /init",
			"lrwxrwxrwx 0 0 5 Jan 1 1970 bbin/halt -> /init", "lrwxrwxrwx 0 0 5 Jan 1 1970 bbin/shutdown -> /init",
		}
		if diff := cmp.Diff(want, list(t, plain)); diff != "" || !bytes.Contains(plain, []byte("./firstboot for arm")) {
			t.Errorf("%s: cpio -itv (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestAgentThatDoesNotCompileLeavesNothing(t *testing.T) {
	dir, kept, built := t.TempDir(), t.TempDir(), 0
	write(t, dir, map[string]string{"go.mod": "module grove\n", "go.sum": "", "firstboot/main.go": "", "internal/a/a.go": ""})
	broken := errors.New("main.go:3: undefined: x")
	m := Maker{Cache: open(t, kept), Source: Source{Dir: dir, Go: "go", host: builds(&built, broken)}, Image: "demo", Arch: spec.AMD64}
	if _, _, err := m.Agent(t.Context()); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "build the agent: ") {
		t.Errorf("got %v", err)
	}
	for _, sub := range []string{"parts/initramfs/agent", "tmp"} {
		if left, _ := os.ReadDir(filepath.Join(kept, sub)); len(left) > 0 {
			t.Errorf("left behind in %s: %v", sub, left)
		}
	}
}

func TestModulesAreTheKernelsFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"fat.ko": "fat", "index.json": "{}"})
	m := Maker{Cache: open(t, t.TempDir()), Image: "demo"}
	path, _, err := m.Modules(t.Context(), kernel.Kernel{Release: "6.1.0", Key: "a", Boot: dir})
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"drwxr-xr-x 0 0 0 Jan 1 1970 modules", "-rw-r--r-- 0 0 3 Jan 1 1970 modules/fat.ko", "-rw-r--r-- 0 0 2 Jan 1 1970 modules/index.json"}
	if diff := cmp.Diff(want, list(t, unzstd(t, packed))); diff != "" {
		t.Errorf("cpio -itv (-want +got):\n%s", diff)
	}
}

// The real thing: with a warm build cache of Go 2 s, with an empty one 20 s.
func TestBusyboxRunsItsCommandsByNameAndByArgument(t *testing.T) {
	source, err := FindSource(t.Context(), host.Real{}, ".")
	if err != nil {
		t.Fatal(err)
	}
	target, err := targetOf(spec.AMD64)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-race") // the caller's own, which would not even compile without cgo
	const core = "github.com/u-root/u-root/cmds/core/"
	var programs [2][]byte
	for i := range programs {
		b := busybox{source, target, []string{core + "echo", core + "sort"}, filepath.Join(t.TempDir(), "elsewhere")}
		if programs[i], err = b.build(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(programs[0], programs[1]) {
		t.Error("two builds in different folders differ")
	}
	if f, err := elf.NewFile(bytes.NewReader(programs[0])); err != nil || f.Section(".interp") != nil {
		t.Errorf("want a static program; %v", err)
	}
	dir := t.TempDir()
	bb := filepath.Join(dir, "bb")
	if err := os.WriteFile(bb, programs[0], 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"echo", "sort", "stranger"} {
		if err := os.Symlink("bb", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		command []string
		want    string
		code    int
	}{
		{[]string{"echo", "a", "b"}, "a b\n", 0},
		{[]string{"sort", "-r"}, "b\na\n", 0},
		{[]string{"bb", "sort"}, "a\nb\n", 0},
		{[]string{"bb"}, "", 1},
		{[]string{"bb", "cat"}, "", 1},
		{[]string{"stranger", "echo"}, "", 1},
	} {
		c := exec.CommandContext(t.Context(), filepath.Join(dir, test.command[0]), test.command[1:]...)
		c.Stdin = strings.NewReader("b\na\n")
		got, _ := c.Output()
		if string(got) != test.want || c.ProcessState.ExitCode() != test.code {
			t.Errorf("%v: got %q, exit code %d; want %q, %d", test.command, got, c.ProcessState.ExitCode(), test.want, test.code)
		}
	}
}

func TestBusyboxRefuses(t *testing.T) {
	source, err := FindSource(t.Context(), host.Real{}, ".")
	if err != nil {
		t.Fatal(err)
	}
	m := Maker{Cache: open(t, t.TempDir()), Source: source, Image: "demo", Arch: spec.AMD64}
	for _, test := range []struct {
		commands []string
		want     string
	}{
		{[]string{"github.com/u-root/u-root/cmds/core/nosuch"}, "load the command github.com/u-root/u-root/cmds/core/nosuch: "},
		{[]string{"grove/internal/size"}, "load the command grove/internal/size: it is the package size, not a program"},
		{[]string{"a.example/x/ls", "b.example/ls"}, "a.example/x/ls and b.example/ls would both be /bbin/ls"},
	} {
		if _, _, err := m.Busybox(t.Context(), test.commands); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v; want %s", test.commands, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := m.Busybox(ctx, []string{"github.com/u-root/u-root/cmds/core/echo"}); err == nil {
		t.Error("a cancelled build went on")
	}
}

// A command that tools.go leaves out would be missing in go.sum, and found out only when an image is built.
func TestToolsHoldsTheCommandsOfEveryRecipe(t *testing.T) {
	tools, err := os.ReadFile("tools.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, recipe := range catalog.Recipes() {
		pair, findings, err := catalog.Find(recipe)
		if err != nil || findings.Err() != nil {
			t.Fatal(err, findings)
		}
		image, findings := resolve.Image(pair)
		if findings.Err() != nil || len(image.Commands) == 0 {
			t.Fatalf("%s: %d commands, %v", recipe, len(image.Commands), findings)
		}
		for _, c := range image.Commands {
			if !bytes.Contains(tools, []byte(`_ "`+c+`"`)) {
				t.Errorf("%s: %s is not imported in tools.go", recipe, c)
			}
		}
	}
}

func TestTargetOfAnUnknownArchitectureIsABug(t *testing.T) {
	if _, err := targetOf("mips"); err == nil || !strings.HasPrefix(err.Error(), "BUG: ") {
		t.Errorf("got %v", err)
	}
}
