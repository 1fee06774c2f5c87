package proc

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func put(t *testing.T, root, file, text string) {
	t.Helper()
	path := filepath.Join(root, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestMountsAreOfBlockDevices(t *testing.T) {
	root := t.TempDir()
	put(t, root, "proc/self/mountinfo", `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 0:2 / / rw - rootfs rootfs rw
30 27 254:3 / /usr ro,nosuid shared:1 - squashfs /dev/vda3 ro,errors=continue
31 27 252:0 / /data\040of\134it rw,noatime - xfs /dev/grove/data rw,attr2
32 27 0:40 / /b rw - btrfs /dev/vdf rw
33
`)
	got, err := Mounts(root, map[string]string{"254:3": "vda3", "252:0": "dm-0"})
	want := []Mount{{"/dev/vda3", "vda3", "/usr", "squashfs", "ro,nosuid,ro,errors=continue"}, {"/dev/grove/data", "dm-0", `/data of\it`, "xfs", "rw,noatime,rw,attr2"},
		{"/dev/vdf", "", "/b", "btrfs", "rw,rw"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := Mounts(t.TempDir(), nil); err == nil {
		t.Error("without /proc nobody knows what is mounted")
	}
}

func TestSwaps(t *testing.T) {
	root := t.TempDir()
	if got, err := Swaps(root); got != nil || err != nil {
		t.Errorf("of a kernel without swap: got %q, %v", got, err)
	}
	put(t, root, "proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/sda1                               partition\t524284\t\t0\t\t-2\n/state/swap\\040file file 1 0 -3\n")
	got, err := Swaps(root)
	if diff := cmp.Diff([]string{"/dev/sda1", "/state/swap file"}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
