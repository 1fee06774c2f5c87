package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"grove/internal/host"
	"grove/internal/size"
	"grove/internal/spec"
)

//go:embed testdata/guest.bin
var guest []byte

// sector is an image of 1 MiB whose boot sector is the whole system: it says a line of Grove's, echoes what is typed, obeys the power button, and on ! says that the
// kernel panicked, on @ restarts, on * goes deaf.
func sector(t *testing.T, code []byte) Image {
	t.Helper()
	disk := make([]byte, size.MiB)
	copy(disk, code)
	if code != nil {
		disk[510], disk[511] = 0x55, 0xaa
	}
	path := filepath.Join(t.TempDir(), "sector.img")
	if err := os.WriteFile(path, disk, 0o444); err != nil {
		t.Fatal(err)
	}
	return Image{Name: "sector", Path: path, Lab: spec.Lab{Machine: "q35", CPU: "max", CPUs: 1, Memory: 64 * size.MiB, Disk: 4 * size.MiB}}
}

// lame is a guest that has not come as far as PID 1, and says on ! what a kernel says when the emulator has spoilt it.
func lame(code []byte) []byte {
	code = bytes.Replace(code, []byte("grove 0.50 init: one sector"), []byte("here is a kernel that boots"), 1)
	return bytes.Replace(code, []byte("Kernel panic - not syncing: asked to"), []byte("Oops: int3: 0000 [#1] PREEMPT SMP NO"), 1)
}

// seen collects events.
type seen struct {
	mu  sync.Mutex
	all []Event
}

func (s *seen) see(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, e)
}

func (s *seen) topics(node string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, e := range s.all {
		if e.Node == node {
			all = append(all, e.Topic)
		}
	}
	return strings.Join(all, " ")
}

func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

func up(t *testing.T, c Config) *Lab {
	t.Helper()
	if c.Image.Path == "" {
		c.Image = sector(t, guest)
	}
	if len(c.Nodes) == 0 {
		c.Nodes = []spec.Personal{{Hostname: "node1"}}
	}
	c.Dir, c.Host = t.TempDir(), host.Real{}
	l, err := Up(within(t, time.Minute), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(within(t, time.Minute)); err != nil {
			t.Error(err)
		}
	})
	return l
}

func expect(t *testing.T, l *Lab, node, pattern string) {
	t.Helper()
	if _, err := l.Expect(within(t, time.Minute), node, regexp.MustCompile(pattern)); err != nil {
		t.Fatal(err)
	}
}

// alive is false for one that only waits to be reaped, too: the orphans of a killed lab are the init's.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(after, "Z")
}

func TestNodesBootAreTypedAtAndStopInOrder(t *testing.T) {
	image := sector(t, guest)
	before, err := os.ReadFile(image.Path)
	if err != nil {
		t.Fatal(err)
	}
	var events seen
	l := up(t, Config{Image: image, Nodes: []spec.Personal{{Hostname: "a"}, {Hostname: "b"}}, See: events.see})
	for _, node := range []string{"a", "b"} {
		expect(t, l, node, `init: one sector\n> `)
		if err := l.Type(node, "I am "+node); err != nil {
			t.Fatal(err)
		}
		expect(t, l, node, "I am "+node+"\n")
	}
	ctx := within(t, time.Minute)
	if err := l.PowerOff(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if err := l.Orderly("a"); err != nil {
		t.Error(err)
	}
	if got, want := events.topics("a"), "power init stop power"; got != want {
		t.Errorf("events of a: got %q; want %q", got, want)
	}
	if s := l.Nodes(); s[0].State != "off" || s[1].State != "booting" || s[1].Times.Init == 0 || s[1].Address != "10.5.0.12:27017" {
		t.Errorf("got %+v; want a off and b booting, with its time of init", s)
	}
	if err := l.PowerOff(ctx, "a"); err == nil {
		t.Error("a second power-off: got no error")
	}
	qemu, runtime := l.Nodes()[1].PID, l.runtime
	if err := l.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := l.Orderly("b"); err != nil {
		t.Errorf("Close pulled the plug of b: %v", err)
	}
	if alive(qemu) {
		t.Errorf("QEMU, process %d, is still there", qemu)
	}
	after, err := os.ReadFile(image.Path)
	if err != nil || sha256.Sum256(after) != sha256.Sum256(before) {
		t.Errorf("the image was written to, or is gone: %v", err)
	}
	checkFiles(t, l.Dir(), runtime)
}

// checkFiles wants nothing left but the logs, with a time on each line.
func checkFiles(t *testing.T, dir, runtime string) {
	t.Helper()
	if _, err := os.Stat(runtime); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", runtime, err)
	}
	var names []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), "a.firmware.log a.serial.log b.firmware.log b.serial.log"; got != want {
		t.Errorf("left in the lab's folder: got %s; want %s", got, want)
	}
	log, _ := os.ReadFile(filepath.Join(dir, "a.serial.log"))
	want := regexp.MustCompile(`^\[ +\d+\.\d{3}\] grove 0.50 init: one sector\n\[ +\d+\.\d{3}\] > I am a\n\[ +\d+\.\d{3}\] grove 1.00 stop: power button\n$`)
	if !want.Match(log) {
		t.Errorf("log: got %q; want it to match %q", log, want)
	}
}

func TestPowerIsCutAndComesBack(t *testing.T) {
	l := up(t, Config{})
	expect(t, l, "node1", "> ")
	first := l.Nodes()[0].PID
	if err := l.Kill("node1"); err != nil {
		t.Fatal(err)
	}
	if alive(first) || l.Nodes()[0].State != "off" || l.Orderly("node1") == nil {
		t.Errorf("after the cut: process alive %v, %+v; want a node that is off and did not stop in order", alive(first), l.Nodes()[0])
	}
	ctx := within(t, time.Minute)
	if err := l.Start(ctx, "node1"); err != nil {
		t.Fatal(err)
	}
	expect(t, l, "node1", "> ")
	if err := l.Start(ctx, "node1"); err == nil {
		t.Error("Start of a node that is on: got no error")
	}
	if err := l.Reset(ctx, "node1"); err != nil {
		t.Fatal(err)
	}
	expect(t, l, "node1", "> ")
	if l.Nodes()[0].PID == first {
		t.Error("the same QEMU after two power cycles")
	}
}

func TestFaultsOfABootAreFound(t *testing.T) {
	for _, c := range []struct {
		name   string
		code   []byte
		config Config
		typed  string
		want   string
	}{
		{"a kernel panic", guest, Config{}, "!", "node1: kernel panic: Kernel panic - not syncing: asked to; see "},
		{"a restart that nobody asked for", guest, Config{}, "@", "node1: the node restarted by itself; last on its console: "},
		{"nothing to boot, by BIOS", nil, Config{}, "", "node1: the BIOS found nothing to boot: No bootable device."},
		{"nothing to boot, by UEFI", nil, Config{Firmware: "uefi"}, "", "node1: the UEFI firmware found nothing to boot: "},
		{"silence", guest, Config{Silence: 2 * time.Second}, "", "node1: nothing on the console for 2 s; last: \"grove 0.50 init: one sector\""},
		{"a mongod that never answers", guest, Config{Boot: 3 * time.Second}, "", "node1: mongod does not answer 3 s after QEMU's start; last on the console: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Image = sector(t, c.code)
			l := up(t, c.config)
			if c.typed != "" {
				expect(t, l, "node1", "> ")
				if err := l.Type("node1", c.typed); err != nil {
					t.Fatal(err)
				}
			}
			err := l.Wait(within(t, 100*time.Second))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v; want %s…", err, c.want)
			}
			if s := l.Nodes()[0]; s.State != "failed" {
				t.Errorf("got %+v; want it failed", s)
			}
		})
	}
}

func TestABootThatTheEmulatorSpoilsBeginsAnewThreeTimes(t *testing.T) {
	var s seen
	l := up(t, Config{Image: sector(t, lame(guest)), See: s.see})
	for n := range 4 {
		expect(t, l, "node1", "boots\n> ")
		time.Sleep(1500 * time.Millisecond) // as a kernel needs twice that
		if got, want := s.topics("node1"), "power"+strings.Repeat(" power", n); got != want {
			t.Errorf("after %d resets: got the events %q; want %q", n, got, want)
		}
		if err := l.Type("node1", "!"); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, l, "node1", "int3")
	time.Sleep(time.Second)
	if got, want := s.topics("node1"), "power power power power"; got != want {
		t.Errorf("got the events %q; want %q", got, want)
	}
}

func TestANodeThatDoesNotObeyIsEnded(t *testing.T) {
	l := up(t, Config{})
	expect(t, l, "node1", "> ")
	if err := l.Type("node1", "*"); err != nil {
		t.Fatal(err)
	}
	expect(t, l, "node1", `\*`)
	qemu := l.Nodes()[0].PID
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := l.Close(ctx); err != nil {
		t.Error(err)
	}
	if alive(qemu) || l.Orderly("node1") == nil {
		t.Errorf("process alive %v, want it ended by force", alive(qemu))
	}
}

func TestNothingIsLeftWhenQEMURefuses(t *testing.T) {
	image := sector(t, guest)
	image.Lab.CPU = "no-such-cpu"
	dir := t.TempDir()
	_, err := Up(within(t, time.Minute), Config{Image: image, Nodes: []spec.Personal{{Hostname: "a"}}, Dir: dir, Host: host.Real{}})
	if err == nil || !strings.Contains(err.Error(), "switch a on: ") || !strings.Contains(err.Error(), "unable to find CPU model 'no-such-cpu'") {
		t.Errorf("got %v; want what QEMU said", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
