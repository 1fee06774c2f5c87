package initramfs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/u-root/u-root/pkg/cpio"

	"grove/internal/spec"
)

// list is what GNU cpio makes of an archive: mode, owner, group, size or device numbers, name.
func list(t *testing.T, plain []byte) []string {
	t.Helper()
	c := exec.Command("cpio", "-itv", "--numeric-uid-gid", "--quiet")
	c.Stdin, c.Stderr = bytes.NewReader(plain), os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("cpio: %v; run scripts/setup-host", err)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line) // -rw-r--r-- 1 0 0 9 Jan 1 1970 name; a device has 5, 1 for its size
		lines = append(lines, strings.Join(append([]string{f[0]}, f[2:]...), " "))
	}
	return lines
}

func unzstd(t *testing.T, packed []byte) []byte {
	t.Helper()
	r, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	plain, err := r.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func TestRootIsWhatTheKernelAndPID1Expect(t *testing.T) {
	plain, err := archive(root())
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(`
drwxr-xr-x 0 0 0 Jan 1 1970 .
drwxr-xr-x 0 0 0 Jan 1 1970 dev
drwxr-xr-x 0 0 0 Jan 1 1970 proc
drwxr-xr-x 0 0 0 Jan 1 1970 sys
drwxr-xr-x 0 0 0 Jan 1 1970 run
drwxr-xr-x 0 0 0 Jan 1 1970 etc
drwxr-xr-x 0 0 0 Jan 1 1970 etc/grove
drwxr-xr-x 0 0 0 Jan 1 1970 state
drwxr-xr-x 0 0 0 Jan 1 1970 usr
drwxr-xr-x 0 0 0 Jan 1 1970 modules
drwxr-xr-x 0 0 0 Jan 1 1970 bbin
drwxrwxrwt 0 0 0 Jan 1 1970 tmp
drwx------ 0 0 0 Jan 1 1970 root
lrwxrwxrwx 0 0 7 Jan 1 1970 lib -> usr/lib
lrwxrwxrwx 0 0 9 Jan 1 1970 lib64 -> usr/lib64
lrwxrwxrwx 0 0 7 Jan 1 1970 bin -> usr/bin
lrwxrwxrwx 0 0 8 Jan 1 1970 sbin -> usr/sbin
crw------- 0 0 5, 1 Jan 1 1970 dev/console
crw-rw-rw- 0 0 1, 3 Jan 1 1970 dev/null`), "\n")
	if diff := cmp.Diff(want, list(t, plain)); diff != "" {
		t.Errorf("cpio -itv (-want +got):\n%s", diff)
	}
}

func TestPackGivesTheSameBytesTwice(t *testing.T) {
	records := func() []cpio.Record {
		return append(root(), cpio.StaticFile("init", strings.Repeat("program ", 1<<17), 0o755))
	}
	var packed [2][]byte
	for i := range packed {
		file := filepath.Join(t.TempDir(), "part")
		if err := pack(file, records()); err != nil {
			t.Fatal(err)
		}
		packed[i], _ = os.ReadFile(file)
	}
	plain, err := archive(records())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(packed[0], packed[1]) || !bytes.Equal(unzstd(t, packed[0]), plain) {
		t.Errorf("got %d and %d bytes; want the same, and of them the archive", len(packed[0]), len(packed[1]))
	}
}

func TestConfigIsAnArchiveOfOneFile(t *testing.T) {
	config, err := Config(spec.Node{Image: "demo", Mongod: spec.NodeMongod{Config: map[string]any{"b": 1, "a": 2}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := list(t, config); len(got) != 1 || !strings.HasPrefix(got[0], "-rw-r--r-- 0 0 ") || !strings.HasSuffix(got[0], " etc/grove/image.json") {
		t.Errorf("got %q; want etc/grove/image.json, -rw-r--r--", got)
	}
	if again, _ := Config(spec.Node{Image: "demo", Mongod: spec.NodeMongod{Config: map[string]any{"a": 2, "b": 1}}}); !bytes.Equal(config, again) {
		t.Error("the order of a map shows in the bytes")
	}
}

func TestConcatBeginsEveryPartAtAMultipleOfFour(t *testing.T) {
	for _, test := range []struct{ parts, want string }{
		{"", ""}, {"1234", "1234"}, {"1,2", "1\x00\x00\x002\x00\x00\x00"}, {"123,12345,12", "123\x0012345\x00\x00\x0012\x00\x00"},
	} {
		var got bytes.Buffer
		err := Concat(&got, readers(strings.Split(test.parts, ","))...)
		if err != nil || got.String() != test.want {
			t.Errorf("%q: got %q, %v; want %q", test.parts, got.String(), err, test.want)
		}
	}
}
