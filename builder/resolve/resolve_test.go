package resolve

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"grove/builder/catalog"
	"grove/builder/plan"
	"grove/internal/spec"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The resolved spec and the plan of every recipe, as grove show and grove plan print them.
func TestGolden(t *testing.T) {
	for _, name := range catalog.Recipes() {
		p, found, err := catalog.Find(name)
		if err != nil || len(found) > 0 {
			t.Fatal(err, found)
		}
		img, found := Image(p)
		if len(found) > 0 {
			t.Fatal(found)
		}
		golden(t, name+".spec.yaml", text(t, img))
		golden(t, name+".plan.txt", steps(img))
	}
}

func text(t *testing.T, img spec.Image) string {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(img); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func steps(img spec.Image) string {
	var b strings.Builder
	for _, s := range plan.Image(img) {
		b.WriteString(s.Name + "\n")
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		os.MkdirAll("testdata", 0o755)
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s: %s", file, d)
	}
}

const good = `board: m4.4xlarge
mongod: {version: "6.0.5", source: {url: "https://example.org/m.tgz", sha256: ` + zeros + `}}
`
const zeros = `"0000000000000000000000000000000000000000000000000000000000000000"`

func write(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "r.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestFindings(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"a good recipe", "", "", ""},
		{"no board", "board: m4.4xlarge", "title: x", "r.yaml: board: is missing; there are m4.4xlarge, m7g, pcduino3-nano, qemu-amd64, qemu-arm64"},
		{"an unknown board", "m4.4xlarge", "m4.large", `r.yaml:1:8: board: unknown board "m4.large"; did you mean "m4.4xlarge"?; there are m4.4xlarge, m7g, pcduino3-nano, qemu-amd64, qemu-arm64`},
		{"no version", `version: "6.0.5", `, "", `r.yaml:2:9: mongod.version: is missing; want one such as "6.0.5"`},
		{"half a version", `"6.0.5"`, `"6.0"`, `r.yaml:2:19: mongod.version: want three numbers such as 6.0.5, have "6.0"`},
		{"no source", `url: "https://example.org/m.tgz", `, "", "r.yaml:2:36: mongod.source: want one of url, file, deb, wheel, have none"},
		{"two sources", "url:", "file: x, url:", "r.yaml:2:36: mongod.source: want one of url, file, deb, wheel, have url and file"},
		{"no hash", ", sha256: " + zeros, "", "r.yaml:2:36: mongod.source.sha256: is missing; nothing goes into an image unverified (sha256sum FILE prints it)"},
		{"a short hash", zeros, `"00"`, `r.yaml:2:79: mongod.source.sha256: want 64 hexadecimal digits in lower case, have "00"`},
		{"an address that is none", "https://example.org/m.tgz", "example.org", `r.yaml:2:42: mongod.source.url: want an address that begins with https:// or http://, have "example.org"`},
		{"a wheel without version", `url: "https://example.org/m.tgz"`, "wheel: x, platform: y", `r.yaml:2:44: mongod.source.wheel: want a name and version such as name==1.0, have "x"`},
		{"a misspelt setting of mongod's", `{version: "6.0.5"`, `{config: {net: {prot: 1}}, version: "6.0.5"`, `r.yaml:2:31: mongod.config.net.prot: is no setting of mongod's; did you mean "port"?`},
		{"a setting that this mongod has no more", `{version: "6.0.5"`, `{config: {storage: {repairPath: /x}}, version: "6.0.5"`,
			"r.yaml:2:41: mongod.config.storage.repairPath: is gone since mongod 4.2, and this is 6.0.5"},
		{"a small state", "board:", "partitions: {state: 8MiB}\nboard:", "r.yaml:1:21: partitions.state: have 8MiB, want at least 32MiB"},
		{"an odd size", "board:", "partitions: {boot: 41000KiB}\nboard:", "r.yaml:1:20: partitions.boot: have 41000KiB, want a multiple of 1MiB"},
		{"an unknown packing", "board:", "system: {compression: zst}\nboard:", `r.yaml:1:23: system.compression: want one of zstd, lz4, xz, have "zst"; did you mean "zstd"?`},
		{"a level without zstd", "board:", "system: {compression: lz4, level: 3}\nboard:", "r.yaml:1:35: system.level: goes with zstd only"},
		{"a login that is none", "board:", "console: {login: root}\nboard:", `r.yaml:1:18: console.login: want one of none, shell, have "root"`},
		{"a package that is none", "board:", "packages: [Gdb]\nboard:", `r.yaml:1:12: packages[0]: want the name of a Debian package, have "Gdb"`},
		{"a disk that is picked by nothing", "board:", "storage: {disks: [{count: 2}], raid: {level: 1}}\nboard:", "r.yaml:1:19: storage.disks[0]: picks any disk; want at least one of name, serial, model, bus, size, ebs"},
		{"too few disks for the level", "board:", "storage: {disks: [xvdb, xvdc], raid: {level: 10}}\nboard:", "r.yaml:1:46: storage.raid.level: level 10 needs at least 4 disks, have 2"},
		{"two disks without a level", "board:", "storage: {disks: [xvdb, xvdc]}\nboard:", "r.yaml:1:10: storage.raid.level: have 2 disks and no level; want 10, 0 or 1"},
		{"a level that is none", "board:", "storage: {disks: [xvdb, xvdc], raid: {level: 5}}\nboard:", `r.yaml:1:46: storage.raid.level: want 10, 0, 1 or none, have "5"`},
		{"the same disk twice", "board:", "storage: {disks: [xvdb, /dev/xvdb], raid: {level: 1}}\nboard:", "r.yaml:1:25: storage.disks[1]: picks the same as storage.disks[0]"},
		{"shares past the whole", "board:", "storage: {disks: [xvdb], volumes: {data: 90%, log: 5%, journal: 6%}}\nboard:", "r.yaml:1:35: storage.volumes: shares add up to 101%, want at most 100%"},
		{"a share without its sign", "board:", "storage: {disks: [xvdb], volumes: {data: 90}}\nboard:", `r.yaml:1:42: storage.volumes.data: want a share such as 90%, have "90"`},
		{"an option that loses data", "board:", "storage: {disks: [xvdb], options: [noatime, nobarrier]}\nboard:", "r.yaml:1:45: storage.options[1]: nobarrier loses acknowledged writes when the power goes"},
		{"an array of nothing", "board:", "storage: {raid: {level: 1}}\nboard:", "r.yaml:1:10: storage.disks: is missing; nothing else of storage means anything without it"},
		{"swap of no size", "board:", "swap: [{on: state}]\nboard:", "r.yaml:1:8: swap[0].size: have 0, want at least 1MiB"},
		{"swap on a place that is none", "board:", "swap: [{on: stat, size: 1GiB}]\nboard:", `r.yaml:1:13: swap[0].on: want one of state, usb, zram, partition, have "stat"; did you mean "state"?`},
		{"a network that is none", "board:", "firewall: {cluster: [192.168.1.7/24]}\nboard:", `r.yaml:1:22: firewall.cluster[0]: want a network such as 192.168.1.0/24, have "192.168.1.7/24"`},
		{"a command line that breaks out", "board:", "kernel: {append: \"a; reboot\"}\nboard:", "r.yaml:1:18: kernel.append: want at most 1024 letters, digits, spaces and the signs . , : = _ + - / @ % ~ [ ], since the boot loader would take others for its own"},
	} {
		file := write(t, strings.Replace(good, c.from, c.to, 1))
		p, found, err := catalog.Find(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, more := Image(p); len(found) == 0 {
			found = more
		}
		if got := strings.ReplaceAll(found.Error(), filepath.Dir(file)+"/", ""); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestLayoutFollowsOneBehindTheOther(t *testing.T) {
	for _, firmware := range []string{"bios", spec.Sunxi} {
		list := layout("seed", spec.Board{Firmware: []string{firmware}}, spec.Partitions{})
		for n := 1; n < len(list); n++ {
			if list[n].Start < list[n-1].Start+list[n-1].Size || list[n].Start%(1<<20) != 0 {
				t.Errorf("%s: %s at %s overlaps %s or is not aligned", firmware, list[n].Role, list[n].Start, list[n-1].Role)
			}
		}
	}
}
