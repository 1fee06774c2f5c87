package resolve

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"grove/builder/catalog"
	"grove/builder/mongod/cpu"
	"grove/internal/diag"
	"grove/internal/mongoconf"
	"grove/internal/size"
	"grove/internal/spec"
)

// rules collects what is wrong with a pair.
type rules struct {
	pair  catalog.Pair
	found diag.Findings
}

func (r *rules) recipe(key, format string, args ...any) {
	r.found = append(r.found, r.pair.RecipeFrom.Finding(key, fmt.Sprintf(format, args...)))
}

func (r *rules) inBoard(key, format string, args ...any) {
	r.found = append(r.found, r.pair.BoardFrom.Finding(key, fmt.Sprintf(format, args...)))
}

// oneOf refuses a value outside a list; an empty value stands for the default.
func oneOf(report func(string, string, ...any), key, value string, list []string) {
	if value != "" && !slices.Contains(list, value) {
		report(key, "want one of %s, have %q%s", strings.Join(list, ", "), value, diag.Meant(value, list))
	}
}

func (r *rules) board() {
	b := r.pair.Board
	if b.Name == "" {
		return // catalog has said so
	}
	for _, must := range [][2]string{{"arch", string(b.Arch)}, {"tier", b.Tier}, {"kernel.package", b.Kernel.Package}, {"lab.machine", b.Lab.Machine}} {
		if must[1] == "" {
			r.inBoard(must[0], "is missing")
		}
	}
	oneOf(r.inBoard, "tier", b.Tier, spec.Tiers)
	oneOf(r.inBoard, "arch", string(b.Arch), []string{string(spec.AMD64), string(spec.ARM64), string(spec.ARMHF)})
	r.firmware(b)
	for n, name := range b.Kernel.DeviceTrees {
		if !treeForm.MatchString(name) {
			r.inBoard(fmt.Sprintf("kernel.device_trees[%d]", n), "want the name of a device tree without .dtb, have %q", name)
		}
	}
	if b.Memory < size.GiB/2 {
		r.inBoard("memory", "have %s, want at least 512MiB: mongod's cache alone takes 256MiB", b.Memory)
	}
	if b.Lab.CPUs < 1 || b.Lab.Memory < size.GiB/2 {
		r.inBoard("lab", "want at least 1 of cpus and 512MiB of memory, have %d and %s", b.Lab.CPUs, b.Lab.Memory)
	}
}

// startsBy are the firmwares of which an architecture's boards have any, each way of starting that Grove makes a boot loader for.
var startsBy = map[spec.Arch][]string{spec.AMD64: {"bios", "uefi"}, spec.ARM64: {"uefi"}, spec.ARMHF: {spec.Sunxi}}

func (r *rules) firmware(b spec.Board) {
	want := startsBy[b.Arch]
	if want == nil {
		return // the architecture is a finding
	}
	if len(b.Firmware) == 0 {
		r.inBoard("firmware", "is missing; want %s", strings.Join(want, ", "))
	}
	for n, f := range b.Firmware {
		if !slices.Contains(want, f) {
			r.inBoard(fmt.Sprintf("firmware[%d]", n), "a board of %s starts by %s, have %q", b.Arch, strings.Join(want, " or "), f)
		}
	}
	if !b.OnSunxi() {
		if b.Console == "" && b.Arch == spec.AMD64 {
			r.inBoard("console", "is missing; want one as the kernel writes it, such as ttyS0,115200n8")
		}
		if b.UBoot != (spec.UBoot{}) {
			r.inBoard("uboot", "goes with the firmware %s only", spec.Sunxi)
		}
		return
	}
	if b.Console != "" {
		r.inBoard("console", "is named by the device tree of a %s board: leave it out, as one image is to speak on the board's serial port and on that of QEMU", spec.Sunxi)
	}
	for _, must := range [][2]string{{"defconfig", b.UBoot.Defconfig}, {"device_tree", b.UBoot.DeviceTree}, {"version", b.UBoot.Version}, {"compiler", b.UBoot.Compiler}, {"sha256", b.UBoot.SHA256}} {
		if must[1] == "" {
			r.inBoard("uboot."+must[0], "is missing")
		}
	}
	if !slices.Contains(b.Kernel.DeviceTrees, b.UBoot.DeviceTree) {
		r.inBoard("kernel.device_trees", "%s is missing, the board's own", b.UBoot.DeviceTree)
	}
}

func (r *rules) uboot() {
	own, b := r.pair.Recipe.UBoot, r.pair.Board
	switch {
	case own == (spec.File{}) || b.Name == "":
		return
	case !b.OnSunxi():
		r.recipe("uboot", "the board %s starts by %s, not by U-Boot", b.Name, strings.Join(b.Firmware, " and "))
	case own.File == "":
		r.recipe("uboot.file", "is missing")
	}
	r.sum("uboot.sha256", own.SHA256)
}

// sum wants what is brought into an image to be known.
func (r *rules) sum(key, value string) {
	if value == "" {
		r.recipe(key, "is missing; nothing goes into an image unverified (sha256sum FILE prints it)")
	} else if !sumForm.MatchString(value) {
		r.recipe(key, "want 64 hexadecimal digits in lower case, have %q", value)
	}
}

// The suites before bookworm that mirrors still hold.
var tooOld = []string{"jessie", "stretch", "buster", "bullseye"}

var (
	suiteForm   = regexp.MustCompile(`^[a-z][a-z-]*$`)
	packageForm = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`) // Debian Policy 5.6.1
	versionForm = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)
	sumForm     = regexp.MustCompile(`^[0-9a-f]{64}$`)
	nameForm    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	appendForm  = regexp.MustCompile(`^[A-Za-z0-9 .,:=_+/@%~\[\]-]*$`)
	treeForm    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	wheelForm   = regexp.MustCompile(`^[A-Za-z0-9._-]+==[A-Za-z0-9.+!-]+$`) // PEP 440, pinned
)

func (r *rules) debian() {
	d := r.pair.Recipe.Debian
	if d.Suite != "" && !suiteForm.MatchString(d.Suite) {
		r.recipe("debian.suite", "want a codename such as trixie, have %q", d.Suite)
	} else if slices.Contains(tooOld, d.Suite) {
		r.recipe("debian.suite", "%s is too old: its mke2fs lacks features that state is made with (1.47 has them); want bookworm or later", d.Suite)
	}
	if d.Mirror != "" {
		r.address("debian.mirror", d.Mirror)
	}
}

func (r *rules) address(key, value string) {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		r.recipe(key, "want an address that begins with https:// or http://, have %q", value)
	}
}

func (r *rules) mongod() {
	m := r.pair.Recipe.Mongod
	if m.Version == "" {
		r.recipe("mongod.version", `is missing; want one such as "6.0.5"`)
	} else if !versionForm.MatchString(m.Version) {
		r.recipe("mongod.version", "want three numbers such as 6.0.5, have %q", m.Version)
	} else if r.pair.Board.Arch != "" {
		for _, reason := range cpu.Rule(m.Version, r.pair.Board) {
			r.recipe("mongod.version", "%s", reason)
		}
	}
	for _, no := range mongoconf.Check(mongoconf.Server{Version: m.Version, Arch: r.pair.Board.Arch}, m.Config) {
		r.recipe("mongod.config."+no.Key, "%s", no.Why)
	}
	r.source(m.Source)
	for n, name := range m.Packages {
		r.packageName(fmt.Sprintf("mongod.packages[%d]", n), name)
	}
}

func (r *rules) source(s spec.Source) {
	const key = "mongod.source"
	var ways []string
	for _, way := range []struct{ name, value string }{{"url", s.URL}, {"file", s.File}, {"deb", s.Deb}, {"wheel", s.Wheel}} {
		if way.value != "" {
			ways = append(ways, way.name)
		}
	}
	if len(ways) != 1 {
		r.recipe(key, "want one of url, file, deb, wheel, have %s", or(strings.Join(ways, " and "), "none"))
		return
	}
	switch {
	case s.URL != "":
		r.address(key+".url", s.URL)
	case strings.Contains(s.Deb, "://"):
		r.address(key+".deb", s.Deb)
	case s.Wheel != "" && !wheelForm.MatchString(s.Wheel):
		r.recipe(key+".wheel", "want a name and version such as name==1.0, have %q", s.Wheel)
	case s.Wheel != "" && s.Platform == "":
		r.recipe(key+".platform", "is missing; want the platform of the wheel, such as manylinux1_x86_64")
	}
	if s.Wheel == "" && s.Platform != "" {
		r.recipe(key+".platform", "goes with a wheel only")
	}
	r.sum(key+".sha256", s.SHA256)
}

func (r *rules) packages() {
	for n, name := range r.pair.Recipe.Packages {
		r.packageName(fmt.Sprintf("packages[%d]", n), name)
	}
}

func (r *rules) packageName(key, name string) {
	if !packageForm.MatchString(name) {
		r.recipe(key, "want the name of a Debian package, have %q", name)
	}
}

func (r *rules) rest() {
	in := r.pair.Recipe
	oneOf(r.recipe, "console.login", in.Console.Login, []string{"none", "shell"})
	oneOf(r.recipe, "system.compression", in.System.Compression, []string{"zstd", "lz4", "xz"})
	if in.System.Level != 0 && or(in.System.Compression, compression) != "zstd" {
		r.recipe("system.level", "goes with zstd only")
	} else if in.System.Level < 0 || in.System.Level > 22 {
		r.recipe("system.level", "want 1 to 22, have %d", in.System.Level)
	}
	if len(in.Kernel.Append) > 1024 || !appendForm.MatchString(in.Kernel.Append) {
		r.recipe("kernel.append", "want at most 1024 letters, digits, spaces and the signs . , : = _ + - / @ %% ~ [ ], since the boot loader would take others for its own")
	}
	if !nameForm.MatchString(in.Name) {
		r.recipe("", "the recipe's name, which is its file's, becomes the image's: want at most 64 letters, digits, dots, hyphens and underscores, have %q", in.Name)
	}
	for _, p := range []struct {
		key            string
		have, smallest size.Size
	}{
		{"boot", in.Partitions.Boot, smallest.Boot}, {"system", in.Partitions.System, smallest.System}, {"state", in.Partitions.State, smallest.State},
	} {
		if p.have != 0 && p.have < p.smallest {
			r.recipe("partitions."+p.key, "have %s, want at least %s", p.have, p.smallest)
		} else if p.have%size.MiB != 0 {
			r.recipe("partitions."+p.key, "have %s, want a multiple of 1MiB", p.have)
		} else if p.have > largest {
			r.recipe("partitions."+p.key, "have %s, want at most %s; state grows into the medium by itself", p.have, largest)
		}
	}
}
