package payload

import (
	"path"
	"slices"
	"strings"

	"grove/builder/elfcheck"
	"grove/internal/spec"
)

// The programs that the agent calls and a person at the console needs to look and to repair. Links to them (mkfs.ext4, pvs) come along. What is left
// out is left out for a reason: mostly it is a script, for which there is no shell; xfs_scrub alone would bring 30 MB of ICU.
var programs = map[string][]string{
	"mdadm":      {"mdadm"},
	"lvm2":       {"lvm"},
	"dmsetup":    {"dmsetup"},
	"e2fsprogs":  {"mke2fs", "e2fsck", "resize2fs", "tune2fs", "dumpe2fs", "debugfs"},
	"xfsprogs":   {"mkfs.xfs", "xfs_repair", "xfs_growfs", "xfs_db", "xfs_io"},
	"util-linux": {"blkid", "wipefs", "lsblk", "mkswap", "fstrim", "blkdiscard", "blockdev", "findmnt", "fsfreeze", "partx", "zramctl", "lscpu", "prlimit"},
	"mount":      {"mount", "umount", "swapon", "swapoff", "losetup"},
	"fdisk":      {"sfdisk", "fdisk"},
}

// Without names packages that a closure for these system packages may leave out, as Index.Closure takes them: Debian's tools depend on them, and none of their
// files would be taken. They are installers, init, udev, interpreters of scripts, log-ins, and xfs_scrub's tables of Unicode, with all that these drag in: 29 of
// 51 MB. Beside a recipe's own packages nothing is left out, since nobody knows what those use.
func Without(packages []string) []string {
	if slices.ContainsFunc(packages, func(name string) bool { return roleOf(name, packages) == whole }) {
		return nil
	}
	return []string{"debconf", "debconf-2.0", "dpkg", "tar", "perl*", "python3*", "systemd", "udev", "init-system-helpers", "default-mta", "mail-transport-agent",
		"libpam*", "login*", "media-types", "dmeventd", "logsave", "libicu*", "openssl-provider-legacy", "libncursesw6", "readline-common", "liblastlog2-2",
		"libsasl2-modules-db", "libaudit1", "libcap-ng0", "libcrypt1"}
}

// role is what a package is asked for.
type role int

const (
	byNeed role = iota // libraries that something needs
	house              // the named programs too
	whole              // all programs, libraries and what lies beside them: a recipe's own package
)

func roleOf(name string, asked []string) role {
	switch {
	case !slices.Contains(asked, name):
		return byNeed
	case programs[name] != nil:
		return house
	}
	return whole
}

// wanted says whether a file of a package has to be unpacked. The choice among programs comes later, when it is known which of them are links to which.
func wanted(name string, as role, arch spec.Arch, file string) bool {
	doc := "usr/share/doc/" + name
	if file == doc || file == doc+"/copyright" {
		return true
	}
	dir := path.Dir(file)
	switch as {
	case whole:
		return under(file, "usr/bin", "usr/sbin", "usr/lib", "usr/libexec")
	case house:
		if dir == "usr/bin" || dir == "usr/sbin" {
			return true
		}
	}
	return strings.Contains(path.Base(file), ".so") && slices.Contains([]string{"usr/lib/" + elfcheck.Multiarch(arch), "usr/lib", "usr/lib64"}, dir)
}

func under(file string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return strings.HasPrefix(file, d+"/") })
}

// chosen picks from the programs of a house package those that are named, and the links to them. links has the target of each that is a link. lacks is
// what is named and not there.
func chosen(name string, files []string, links map[string]string) (take, lacks []string) {
	for _, p := range programs[name] {
		if !slices.ContainsFunc(files, func(f string) bool { return path.Base(f) == p }) {
			lacks = append(lacks, p)
		}
	}
	for _, f := range files {
		if slices.Contains(programs[name], path.Base(f)) || slices.Contains(programs[name], path.Base(links[f])) {
			take = append(take, f)
		}
	}
	return take, lacks
}
