// Package sysfstest puts a recorded /sys under a test's folder. A record is a line a file, `/sys/block/vda/size = "2048\n"`, or a link,
// `/sys/block/vda -> ../devices/...`, as a tree of links and binary files does not keep well in a repository.
package sysfstest

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Plant makes root/sys and whatever else the record holds.
func Plant(t *testing.T, root, record string) {
	t.Helper()
	f, err := os.Open(record)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			Set(t, root, line)
		}
	}
}

// Set makes one line of a record true.
func Set(t *testing.T, root, line string) {
	t.Helper()
	if path, target, found := strings.Cut(line, " -> "); found {
		path = filepath.Join(root, path)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.Symlink(target, path))
		// Of a device that is nothing but a link's end, the folder.
		if end := filepath.Join(filepath.Dir(path), target); strings.HasPrefix(end, filepath.Join(root, "sys/devices")) {
			must(t, os.MkdirAll(end, 0o755))
		}
		return
	}
	path, quoted, _ := strings.Cut(line, " = ")
	text, err := strconv.Unquote(quoted)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	path = filepath.Join(root, path)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
