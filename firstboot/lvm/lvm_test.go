package lvm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"grove/firstboot/plan/act"
)

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		act  act.Act
		want string
	}{
		{act.Act{Kind: act.CreatePV, UUID: "u"}, "pvcreate CONFIG --uuid u --norestorefile /dev/md127"},
		{act.Act{Kind: act.CreateGroup, Label: "grove", Tags: []string{"a", "b"}}, "vgcreate CONFIG --addtag a --addtag b grove /dev/md127"},
		{act.Act{Kind: act.CreateVolume, Label: "log", Percent: 5}, "lvcreate CONFIG --zero n --wipesignatures n --name log --extents 5%VG grove"},
		{act.Act{Kind: act.Activate}, "vgchange CONFIG --activate y grove"},
	} {
		got := Command(c.act, "/dev/md127")
		line := strings.ReplaceAll(strings.Join(got.Args, " "), "--config "+config("/dev/md127"), "CONFIG")
		if line != c.want || got.Path != "/usr/sbin/lvm" {
			t.Errorf("%s: got %s %s; want %s", c.act.Kind, got.Path, line, c.want)
		}
	}
}

// LVM passes over a setting that it does not know with no more than a warning, so it is asked about ours.
func TestLVMKnowsTheSettings(t *testing.T) {
	out, err := exec.Command("lvm", "dumpconfig", "--validate", "--config", config("/dev/md127")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "LVM configuration valid") {
		t.Errorf("lvm (scripts/setup-host installs it): %v: %s", err, out)
	}
}

func TestDeviceIsNamedWithoutLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.WriteFile(dir+"/md127", nil, 0o600), os.Symlink("md127", dir+"/grove")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Device(dir + "/grove"); got != dir+"/md127" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := Device(dir + "/none"); err == nil || !strings.Contains(err.Error(), "find the device behind") {
		t.Errorf("got %v", err)
	}
}
