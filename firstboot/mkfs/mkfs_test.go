package mkfs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"grove/firstboot/plan/act"
)

const uuid = "f7142827-ab3e-8ca3-8000-000000000001"

// What the tools make of the command lines is judged by blkid, on files in place of devices.
func TestMade(t *testing.T) {
	for _, c := range []struct {
		act  act.Act
		size int64
		want string
	}{
		{act.Act{Kind: act.MakeFS, Type: "xfs"}, 512 << 20, "xfs"},
		{act.Act{Kind: act.MakeFS, Type: "ext4"}, 16 << 20, "ext4"},
		{act.Act{Kind: act.MakeSwap}, 16 << 20, "swap"},
	} {
		file := filepath.Join(t.TempDir(), "device")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, c.size); err != nil {
			t.Fatal(err)
		}
		a := c.act
		a.Dev, a.UUID, a.Label = file, uuid, "db1"
		made := func() error {
			command := Command(a)
			out, err := exec.Command(command.Path, command.Args...).CombinedOutput()
			if err != nil {
				t.Logf("%s: %s", command, out)
			}
			return err
		}
		if err := made(); err != nil {
			t.Errorf("%s: %v (scripts/setup-host installs it)", c.want, err)
		}
		out, err := exec.Command("blkid", "-p", "-o", "value", "-s", "TYPE", "-s", "UUID", "-s", "LABEL", file).CombinedOutput()
		if got := strings.Fields(string(out)); err != nil || len(got) != 3 || strings.Join([]string{c.want, uuid, "db1"}, " ") != ordered(got, c.want) {
			t.Errorf("%s: blkid says %s, %v", c.want, out, err)
		}
		if a.Redo = true; made() != nil {
			t.Errorf("%s: not made again over our own", c.want)
		}
	}
}

// ordered puts blkid's three values in our order; its own is not documented.
func ordered(values []string, kind string) string {
	have := map[string]bool{}
	for _, v := range values {
		have[v] = true
	}
	if have[kind] && have[uuid] && have["db1"] {
		return strings.Join([]string{kind, uuid, "db1"}, " ")
	}
	return strings.Join(values, " ")
}

// The tool's own look is the second guard: without Redo mkfs.xfs does not write over what is there.
func TestXFSRefusesWhatIsNotEmpty(t *testing.T) {
	file := filepath.Join(t.TempDir(), "device")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 512<<20); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := Command(act.Act{Kind: act.MakeFS, Type: "xfs", Dev: file, UUID: uuid, Label: "db1"})
	if out, err := exec.Command(c.Path, c.Args...).CombinedOutput(); err == nil || !strings.Contains(string(out), "appears to contain an existing filesystem") {
		t.Errorf("got %v: %s", err, out)
	}
}
