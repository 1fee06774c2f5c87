package debian

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"grove/builder/debian/apt"
	"grove/internal/spec"
)

// Origin says where packages come from.
type Origin struct {
	Suite    string
	Arch     spec.Arch
	Mirror   string   // address of the archive, without a slash at the end
	Security string   // address of the security archive, "" when none is known
	Keyrings []string // files with the keys that may sign
}

// Discover fills in an origin: what the recipe says, then GROVE_DEBIAN_MIRROR, GROVE_DEBIAN_SECURITY and GROVE_DEBIAN_KEYRING, then what the host's apt uses
// for Debian itself. A mirror that was named is not mixed with the host's security archive: the two may be of different days or signed differently.
func Discover(want spec.Debian, arch spec.Arch) (Origin, error) {
	return discover(want, arch, "/", os.Getenv)
}

func discover(want spec.Debian, arch spec.Arch, root string, env func(string) string) (Origin, error) {
	o := Origin{
		Suite: want.Suite, Arch: arch,
		Mirror:   strings.TrimRight(cmp.Or(want.Mirror, env("GROVE_DEBIAN_MIRROR")), "/"),
		Security: strings.TrimRight(env("GROVE_DEBIAN_SECURITY"), "/"),
	}
	if o.Mirror == "" {
		host := apt.Find(root)
		o.Mirror, o.Security = host.Mirror, cmp.Or(o.Security, host.Security)
	}
	if o.Mirror == "" {
		return o, errors.New("find a Debian mirror: this machine's apt names none; set debian.mirror in the recipe or GROVE_DEBIAN_MIRROR")
	}
	if named := cmp.Or(want.Keyring, env("GROVE_DEBIAN_KEYRING")); named != "" {
		o.Keyrings = []string{named}
		return o, nil
	}
	o.Keyrings = keyrings(filepath.Join(root, "usr/share/keyrings"))
	if len(o.Keyrings) == 0 {
		return o, fmt.Errorf("find the Debian keyring: no debian-archive-*.gpg in %s; install the package debian-archive-keyring, or set debian.keyring in the recipe or GROVE_DEBIAN_KEYRING",
			filepath.Join(root, "usr/share/keyrings"))
	}
	return o, nil
}

// keyrings is the one file with all keys or, without it, the files of each suite. Removed keys don't count.
func keyrings(dir string) []string {
	for _, name := range []string{"debian-archive-keyring.gpg", "debian-archive-keyring.pgp"} {
		if file := filepath.Join(dir, name); exists(file) {
			return []string{file}
		}
	}
	all, _ := filepath.Glob(filepath.Join(dir, "debian-archive-*.gpg")) // the pattern is valid
	var files []string
	for _, file := range all {
		if !strings.Contains(filepath.Base(file), "removed") {
			files = append(files, file)
		}
	}
	return files
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
