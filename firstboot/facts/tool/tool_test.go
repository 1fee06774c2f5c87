package tool

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/host"
)

// What util-linux 2.38 and 2.41 printed of devices in QEMU and of plain files.
func TestParseBlkid(t *testing.T) {
	for _, c := range []struct {
		name, out string
		want      Blkid
	}{
		{"ext4", "DEVNAME=/dev/vdc\nLABEL=data\nUUID=01234567-89ab-4def-8123-456789abcdef\nVERSION=1.0\nBLOCK_SIZE=1024\nTYPE=ext4\nUSAGE=filesystem\n",
			Blkid{Type: "ext4", UUID: "01234567-89ab-4def-8123-456789abcdef", Label: "data"}},
		{"member", "DEVNAME=/dev/vdc\nUUID=01234567-89ab-8def-8123-456789abcdef\nUUID_SUB=19c8bd92-d8e3-6576-8b6c-6b6038b70f55\nLABEL=any:prod_db7\nVERSION=1.2\nTYPE=linux_raid_member\nUSAGE=raid\n",
			Blkid{Type: "linux_raid_member", UUID: "01234567-89ab-8def-8123-456789abcdef", Label: "any:prod_db7"}},
		{"a value that a shell would split", "DEVNAME=ext4b\nLABEL=my\\ data\\$x\nVERSION=LVM2\\ 001\nTYPE=ext2\n", Blkid{Type: "ext2", Label: "my data$x"}},
		{"table", "DEVNAME=/dev/vda\nPTUUID=8ad7e977-159c-89f8-b907-d33c00c8c72f\nPTTYPE=gpt\n", Blkid{Table: "gpt", TableID: "8ad7e977-159c-89f8-b907-d33c00c8c72f"}},
		{"nothing", "", Blkid{}},
		{"a label that ends in a backslash", "LABEL=a\\", Blkid{Label: "a\\"}},
	} {
		if diff := cmp.Diff(c.want, parseBlkid([]byte(c.out))); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

func TestParseWipefs(t *testing.T) {
	for _, c := range []struct{ name, out, want string }{
		{"nothing", "{\n   \"signatures\": [\n\n   ]\n}\n", ""},
		{"nothing at all", "", ""},
		{"two", `{"signatures": [{"device": "amb", "offset": "0xff6", "type": "swap", "uuid": "d7da0000-f53f-0000-0100-000000000000", "label": null},
		          {"device": "amb", "offset": "0x438", "type": "ext4", "uuid": "01234567-89ab-4def-8123-456789abcdef", "label": "data"}]}`, "swap at 0xff6, ext4 at 0x438"},
	} {
		got, err := parseWipefs([]byte(c.out))
		if list := strings.Join(got, ", "); err != nil || list != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.name, list, err, c.want)
		}
	}
	if _, err := parseWipefs([]byte("DEVICE OFFSET")); err == nil {
		t.Error("no JSON is taken for no signature")
	}
}

// pretend is a machine on which a program ends this way.
func pretend(out, said string, code int) *host.FakeMachine {
	return &host.FakeMachine{Programs: func(c host.Command) (string, error) {
		fmt.Fprint(c.Stderr, said)
		if code != 0 {
			return "", &host.Exit{Command: c.String(), Code: code}
		}
		return out, nil
	}}
}

func TestOnlyAnAnswerIsAnAnswer(t *testing.T) {
	for _, c := range []struct {
		name, said string
		code       int
		want       Blkid
		fault      string
	}{
		{"nothing", "", 2, Blkid{}, ""},
		{"ambivalent", "blkid: amb: ambivalent result (probably more filesystems on the device, use wipefs(8) to see more details)\n", 8, Blkid{Ambivalent: true}, ""},
		{"wrongly asked", "", 4, Blkid{}, "blkid -p /dev/x: exit code 4"},
		{"killed", "", -1, Blkid{}, "blkid -p /dev/x: exit code -1"},
		{"nothing, as it could not be read", "blkid: error: /dev/x: Input/output error", 2, Blkid{}, "blkid: blkid: error: /dev/x: Input/output error"},
	} {
		got, err := Probe(t.Context(), pretend("", c.said, c.code), "/dev/x")
		if got != c.want || fmt.Sprint(err) != or(c.fault) {
			t.Errorf("%s: got %+v, %v; want %+v, %s", c.name, got, err, c.want, or(c.fault))
		}
	}
	if _, err := Signatures(t.Context(), pretend("", "wipefs: error: /dev/x: probing initialization failed: No such file or directory\n", 1), "/dev/x"); err == nil {
		t.Error("a wipefs that failed has seen nothing")
	}
	if _, err := Signatures(t.Context(), pretend("", "", 1), "/dev/x"); err == nil || err.Error() != "wipefs --no-act /dev/x: exit code 1" {
		t.Errorf("got %v", err)
	}
}

func or(s string) string {
	if s == "" {
		return "<nil>"
	}
	return s
}

// The true programs, on plain files: nothing is nothing, ext4 is ext4, and what is not there is a fault of at least one of them.
func TestTrueTools(t *testing.T) {
	for _, name := range []string{"/usr/sbin/blkid", "/usr/sbin/wipefs", "/usr/sbin/mke2fs"} {
		if _, err := os.Stat(name); err != nil {
			t.Fatalf("%v: run scripts/setup-host", err)
		}
	}
	ask := func(dev string) (Blkid, []string, error) {
		c, err := Probe(t.Context(), host.Real{}, dev)
		s, err2 := Signatures(t.Context(), host.Real{}, dev)
		if err == nil {
			err = err2
		}
		return c, s, err
	}
	dev := filepath.Join(t.TempDir(), "dev")
	if err := os.WriteFile(dev, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(dev, 8<<20); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(dev)
	if err != nil {
		t.Fatal(err)
	}
	if c, s, err := ask(dev); c != (Blkid{}) || s != nil || err != nil {
		t.Errorf("of nothing: got %+v, %q, %v", c, s, err)
	}
	if after, err := os.ReadFile(dev); err != nil || string(after) != string(before) {
		t.Error("looking has written")
	}
	if out, err := exec.CommandContext(t.Context(), "/usr/sbin/mke2fs", "-q", "-t", "ext4", "-L", "a b", dev).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if c, s, err := ask(dev); c.Type != "ext4" || c.Label != "a b" || len(s) != 1 || s[0] != "ext4 at 0x438" || err != nil {
		t.Errorf("of ext4: got %+v, %q, %v", c, s, err)
	}
	if _, _, err := ask(dev + "x"); err == nil {
		t.Error("what is not there is not blank")
	}
}

func TestCalledOff(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	if _, err := Probe(ctx, pretend("", "", 2), "/dev/x"); err == nil {
		t.Error("a probe that never ran has found nothing")
	}
}
