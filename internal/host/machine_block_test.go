package host

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"grove/internal/size"
)

func TestMountOptionsAreSplit(t *testing.T) {
	const careful = unix.MS_NOATIME | unix.MS_NODEV | unix.MS_NOSUID
	for _, c := range []struct {
		name  string
		m     Mount
		flags uintptr
		data  string
	}{
		{"without options", Mount{}, careful, ""},
		{"read-only, with the file system's own", Mount{ReadOnly: true, Data: "norecovery"}, careful | unix.MS_RDONLY, "norecovery"},
		{"options say all", Mount{Options: []string{"noatime", "noexec", "inode64", "logbsize=256k"}}, unix.MS_NOATIME | unix.MS_NOEXEC, "inode64,logbsize=256k"},
		{"the old words for nothing", Mount{Options: []string{"defaults", "auto"}}, 0, ""},
	} {
		if flags, data := c.m.flags(); flags != c.flags || data != c.data {
			t.Errorf("%s: got %#x, %q; want %#x, %q", c.name, flags, data, c.flags, c.data)
		}
	}
}

func TestMountPointIsAnotherDeviceThanTheFolderAbove(t *testing.T) {
	for path, want := range map[string]bool{"/proc": true, t.TempDir(): false} {
		if got, err := (Real{}).IsMountPoint(path); got != want || err != nil {
			t.Errorf("%s: got %v, %v; want %v", path, got, err, want)
		}
	}
	if _, err := (Real{}).IsMountPoint("/no/such/place"); err == nil || !strings.Contains(err.Error(), "/no/such/place") {
		t.Errorf("got %v", err)
	}
}

func TestAllocatedFileHasNoHoles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "swap")
	if err := (Real{}).Allocate(file, size.MiB); err != nil {
		t.Fatal(err)
	}
	out, err := Real{}.Run(context.Background(), Command{Path: "/usr/bin/stat", Args: []string{"-c", "%s %b %B %a", file}})
	if err != nil || strings.TrimSpace(string(out)) != "1048576 2048 512 600" {
		t.Errorf("stat: %s, %v; want 1 MiB, all of it in 2048 blocks, for root only", out, err)
	}
	if err := (Real{}).Allocate(filepath.Join(t.TempDir(), "none", "swap"), size.MiB); !os.IsNotExist(err) {
		t.Errorf("got %v", err)
	}
}

func TestModuleAndSwapThatAreNotThereAreNamed(t *testing.T) {
	if err := (Real{}).LoadModule("/no/such/module.ko"); !os.IsNotExist(err) {
		t.Errorf("got %v", err)
	}
	if err := (Real{}).SwapOn("/no/such/swap", 0); err == nil || !strings.Contains(err.Error(), "/no/such/swap") {
		t.Errorf("got %v", err)
	}
}
