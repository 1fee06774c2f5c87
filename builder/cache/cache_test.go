package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"grove/internal/host"
)

func open(t *testing.T) *Cache {
	t.Helper()
	c, err := Open(filepath.Join(t.TempDir(), "cache"), host.Real{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func part(inputs []Input, make func(string) error) Part {
	return Part{Name: "system/squashfs", For: "demo", Inputs: inputs, Make: func(_ context.Context, to string) error { return make(to) }}
}

func write(text string) func(string) error {
	return func(to string) error { return os.WriteFile(to, []byte(text), 0o644) }
}

func TestGetSaysWhy(t *testing.T) {
	c := open(t)
	for _, step := range []struct {
		name   string
		inputs []Input
		reused bool
		why    string
	}{
		{"the first time", []Input{{"mongod", "6"}, {"level", "3"}}, false, "first build"},
		{"again", []Input{{"mongod", "6"}, {"level", "3"}}, true, "nothing changed"},
		{"with another value", []Input{{"mongod", "7"}, {"level", "3"}}, false, "mongod changed"},
		{"back again", []Input{{"mongod", "6"}, {"level", "3"}}, true, "nothing changed"},
		{"with an input more and one less", []Input{{"mongod", "6"}, {"kernel", "6.12"}}, false, "kernel is new, level is gone"},
	} {
		path, out, err := c.Get(context.Background(), part(step.inputs, write("x")))
		if err != nil || out.Reused != step.reused || out.Why != step.why {
			t.Errorf("%s: got reused %v, %q, %v; want %v, %q", step.name, out.Reused, out.Why, err, step.reused, step.why)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != "x" {
			t.Errorf("%s: got %q, %v", step.name, data, err)
		}
	}
}

func TestAnotherGroveMakesItsOwn(t *testing.T) {
	c := open(t)
	first, _, err := c.Get(context.Background(), part(nil, write("x")))
	if err != nil {
		t.Fatal(err)
	}
	newer := *c
	newer.maker = "another program"
	second, out, err := newer.Get(context.Background(), part(nil, write("y")))
	if err != nil || out.Reused || out.Why != "Grove itself changed" || first == second {
		t.Errorf("got %s after %s, reused %v, %q, %v", second, first, out.Reused, out.Why, err)
	}
}

func TestAPartThatNobodyTakesIsRemoved(t *testing.T) {
	c := open(t)
	var paths []string
	for _, name := range []string{"left", "taken"} {
		path, _, err := c.Get(context.Background(), part([]Input{{"name", name}}, write(name)))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		long := time.Now().Add(-unused - time.Hour)
		if err := os.Chtimes(c.sealOf(path), long, long); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := c.Get(context.Background(), part([]Input{{"name", "taken"}}, write(""))); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(c.Dir(), host.Real{}); err != nil {
		t.Fatal(err)
	}
	for n, want := range []bool{false, true} {
		for _, path := range []string{paths[n], c.sealOf(paths[n])} {
			if _, err := os.Stat(path); (err == nil) != want {
				t.Errorf("%s: there: %v; want %v", path, err == nil, want)
			}
		}
	}
}

func TestGetKeepsNothingOfAFault(t *testing.T) {
	c := open(t)
	fault := errors.New("no room")
	_, _, err := c.Get(context.Background(), part(nil, func(to string) error {
		os.WriteFile(to, []byte("half"), 0o644)
		return fault
	}))
	if !errors.Is(err, fault) {
		t.Errorf("got %v; want the fault", err)
	}
	for _, sub := range []string{"parts", "tmp"} {
		if left, _ := filepath.Glob(filepath.Join(c.Dir(), sub, "*")); len(left) > 0 {
			t.Errorf("left in the cache: %v", left)
		}
	}
}

func TestTwoBuildsMakeAPartOnce(t *testing.T) {
	c := open(t)
	var made atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			_, _, err := c.Get(context.Background(), part(nil, func(to string) error {
				made.Add(1)
				time.Sleep(50 * time.Millisecond)
				return write("x")(to)
			}))
			if err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times; want once", made.Load())
	}
}

func TestKeepTakesOnlyTheRightContent(t *testing.T) {
	c := open(t)
	sum := sha256.Sum256([]byte("mongod"))
	want := hex.EncodeToString(sum[:])
	file := c.Partial(want)
	os.WriteFile(file, []byte("something else"), 0o644)
	var wrong *Mismatch
	if _, err := c.Keep(file, want); !errors.As(err, &wrong) || wrong.Want != want {
		t.Errorf("got %v; want a mismatch", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the wrong file is still there")
	}
	os.WriteFile(file, []byte("mongod"), 0o644)
	if _, err := c.Keep(file, want); err != nil {
		t.Error(err)
	}
	if path, found := c.Blob(want); !found {
		t.Errorf("%s is not kept", path)
	}
	if _, found := c.Blob("short"); found {
		t.Error("a sum that is none was found")
	}
}

func TestWhatIsDamagedIsMadeAgain(t *testing.T) {
	c := open(t)
	p := part(nil, write("whole"))
	path, _, err := c.Get(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range []struct {
		name string
		do   func() error
	}{
		{"cut short", func() error { return os.Truncate(path, 2) }},
		{"written over", func() error { return os.WriteFile(path, []byte("wrong"), 0o644) }},
		{"without its seal", func() error { return os.RemoveAll(filepath.Join(c.Dir(), "seals")) }},
	} {
		if err := damage.do(); err != nil {
			t.Fatal(err)
		}
		_, out, err := c.Get(context.Background(), p)
		data, _ := os.ReadFile(path)
		if err != nil || out.Reused || out.Why != "the kept one is damaged" || string(data) != "whole" {
			t.Errorf("%s: got %+v, %q, %v", damage.name, out, data, err)
		}
	}
}

func TestADamagedBlobIsNotFound(t *testing.T) {
	c := open(t)
	sum := sha256.Sum256([]byte("mongod"))
	want := hex.EncodeToString(sum[:])
	os.WriteFile(c.Partial(want), []byte("mongod"), 0o644)
	path, err := c.Keep(c.Partial(want), want)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 3); err != nil {
		t.Fatal(err)
	}
	if _, found := c.Blob(want); found {
		t.Error("half a blob was found")
	}
}

func TestOpenSweepsWhatIsOld(t *testing.T) {
	c := open(t)
	old, young, half := filepath.Join(c.Dir(), "tmp", "old"), filepath.Join(c.Dir(), "tmp", "young"), filepath.Join(c.Dir(), "tmp", "x.partial")
	os.MkdirAll(old, 0o755)
	os.MkdirAll(young, 0o755)
	os.WriteFile(half, nil, 0o644)
	long := time.Now().Add(-48 * time.Hour)
	os.Chtimes(old, long, long)
	os.Chtimes(half, long, long)
	if _, err := Open(c.Dir(), host.Real{}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{old: false, young: true, half: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: there: %v; want %v", path, err == nil, want)
		}
	}
}
