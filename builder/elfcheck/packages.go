package elfcheck

import "strings"

// Libraries whose package is not called after them.
var packages = map[string]string{
	"libc.so.6": "libc6", "libm.so.6": "libc6", "libresolv.so.2": "libc6", "libpthread.so.0": "libc6", "libdl.so.2": "libc6", "librt.so.1": "libc6",
	"ld-linux-x86-64.so.2": "libc6", "ld-linux-aarch64.so.1": "libc6", "ld-linux-armhf.so.3": "libc6",
	"libcrypto.so.3": "libssl3", "libcrypto.so.1.1": "libssl1.1", "libz.so.1": "zlib1g", "liblber.so.2": "libldap2", "libe2p.so.2": "libext2fs2", "libbrotlidec.so.1": "libbrotli1", "libbrotlicommon.so.1": "libbrotli1",
}

// Packages guesses the Debian packages that may hold a library, the likeliest first, by the rule of Debian Policy 8.1: name and soname version, with a hyphen
// between digits. `t64` marks those rebuilt for 64-bit time in trixie. Whether they exist is for the caller to know.
func Packages(soname string) []string {
	name, known := packages[soname]
	if !known {
		stem, version, found := strings.Cut(soname, ".so.")
		if !found {
			return nil
		}
		if last := stem[len(stem)-1]; last >= '0' && last <= '9' {
			version = "-" + version
		}
		name = strings.ToLower(strings.ReplaceAll(stem, "_", "-")) + version
	}
	if name == "libc6" {
		return []string{name}
	}
	return []string{name, name + "t64"}
}

// LookIn is the advice that names a library's packages; nothing where there is none.
func LookIn(packages []string) string {
	if len(packages) == 0 {
		return ""
	}
	return "look for it in the Debian package " + strings.Join(packages, " or ")
}
