package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"grove/internal/host"
	"grove/internal/size"
	"grove/internal/spec"
)

// blind is a host without any program.
type blind struct{ host.Fake }

func (*blind) Look(string) string { return "" }

func TestALabThatCannotStartSaysWhy(t *testing.T) {
	good := Config{Image: sector(t, guest), Nodes: []spec.Personal{{Hostname: "node1"}}, Host: &host.Fake{}}
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"all is well", func(*Config) {}, ""},
		{"no image", func(c *Config) { c.Image.Path = "/no/such.img" }, "find the image: "},
		{"unknown firmware", func(c *Config) { c.Firmware = "efi" }, `firmware: have "efi", want bios or uefi`},
		{"unknown disk", func(c *Config) { c.Bus = "ide" }, `disk: have "ide", want virtio or nvme`},
		{"a board that QEMU here is not", func(c *Config) { c.Image.Lab.Machine = "virt" }, `machine: have "virt"; the lab has q35`},
		{"no memory", func(c *Config) { c.Image.Lab.Memory = 0 }, `machine: have 1 processors "max" and 0 of memory`},
		{"a disk that the image does not fit on", func(c *Config) { c.Image.Lab.Disk = 512 * size.KiB }, "disk of 512 KiB is smaller than the image, 1 MiB"},
		{"no nodes", func(c *Config) { c.Nodes = nil }, "have 0 nodes, want 1 to 200"},
		{"twins", func(c *Config) { c.Nodes = append(c.Nodes, c.Nodes...) }, `two nodes are called "node1"`},
		{"twins that the lab tells apart", func(c *Config) { c.Nodes, c.Names = append(c.Nodes, c.Nodes...), []string{"", "node2"} }, ""},
		{"two nodes with one name in the lab", func(c *Config) {
			c.Nodes, c.Names = append(c.Nodes, spec.Personal{Hostname: "node2"}), []string{"", "node1"}
		}, `two nodes are called "node1"`},
		{"dates", func(c *Config) { c.Dates = []string{"1970-01-01", "2026-05-01T12:00:00", ""} }, ""},
		{"a date that is none", func(c *Config) { c.Dates = []string{"", "1970"} }, `date of a node: have "1970", want one such as 1970-01-01`},
		{"a name with a folder in it", func(c *Config) { c.Nodes = []spec.Personal{{Hostname: "../a"}} }, `node "../a": want a hostname`},
		{"no QEMU", func(c *Config) { c.Host = &blind{} }, "find qemu-system-x86_64: it is not in PATH; run scripts/setup-host"},
	} {
		changed := good
		changed.Nodes = append([]spec.Personal(nil), good.Nodes...)
		c.change(&changed)
		got, err := changed.complete()
		if c.want == "" {
			if err != nil || got.Firmware != "bios" || got.Bus != "virtio" || got.Boot != 120*time.Second || got.Silence != time.Minute {
				t.Errorf("%s: got %+v, %v; want the defaults", c.name, got, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v; want %s", c.name, err, c.want)
		}
	}
}

func TestASocketPathThatIsTooLongIsNamed(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	image, dir := sector(t, guest), t.TempDir()
	if err := os.Mkdir(long, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	_, err := Up(within(t, time.Minute), Config{Image: image, Nodes: []spec.Personal{{Hostname: "a"}}, Dir: dir, Host: host.Real{}})
	if err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("got %v; want TMPDIR named", err)
	}
}
