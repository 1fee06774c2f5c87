package filesystem

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/size"
)

func TestReadFATReadsOursAndWhatMtoolsChanged(t *testing.T) {
	f := boot(64 * size.MiB)
	f.Start = 4 * size.MiB
	files := bootFiles(1 << 20)
	path := makeFAT(t, f, files)
	added := filepath.Join(t.TempDir(), "added by another system.txt")
	if err := os.WriteFile(added, []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"mdel -i IMAGE ::boot.cfg", "mcopy -i IMAGE ADDED ::grove/", "mcopy -i IMAGE ADDED ::short.txt", "mdel -i IMAGE ::initrd"} {
		words := strings.Fields(line)
		for i, w := range words {
			words[i] = map[string]string{"IMAGE": path + "@@4M", "ADDED": added}[w]
			if words[i] == "" {
				words[i] = w
			}
		}
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	want := map[string]string{"grove/added by another system.txt": "hello", "short.txt": "hello"}
	for _, file := range files {
		want[file.Path] = string(file.Data)
	}
	delete(want, "boot.cfg")
	delete(want, "initrd")
	img, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	fat, entries, err := ReadFAT(img, f.Start)
	if err != nil {
		t.Fatal(err)
	}
	f.Time = 0
	if diff := cmp.Diff(f, fat); diff != "" {
		t.Error(diff)
	}
	got := map[string]string{}
	for _, e := range entries {
		b, err := e.Read()
		if err != nil {
			t.Error(err)
		}
		got[e.Path] = string(b)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadFATEndsOnDamage(t *testing.T) {
	img, err := os.ReadFile(makeFAT(t, boot(33*size.MiB), bootFiles(1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	g, _ := boot(33 * size.MiB).geometry()
	damage := map[string]func(b []byte){
		"no signature":         func(b []byte) { b[510] = 0 },
		"no sectors a cluster": func(b []byte) { b[13] = 0 },
		"FAT past the end":     func(b []byte) { b[39] = 0xff },
		"root in a circle":     func(b []byte) { b[g.reserved*sector+8] = 2; b[g.reserved*sector+11] = 0 },
		"root at 1":            func(b []byte) { b[44] = 1 },
		"cut short":            nil,
	}
	for name, change := range damage {
		b := bytes.Clone(img)
		if change == nil {
			b = b[:1<<20]
		} else {
			change(b)
		}
		_, entries, err := ReadFAT(bytes.NewReader(b), 0)
		for _, e := range entries {
			if _, failed := e.Read(); failed != nil {
				err = failed
			}
		}
		if err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}
