package resolve

import (
	"grove/internal/partition"
	"grove/internal/size"
	"grove/internal/spec"
)

// Every default of Grove stands here, once, with its reason. After Image nobody asks whether a value is set.
const (
	// Debian 13: its kernel (6.12) has virtio_pci and the zstd squashfs that the boards need, its glibc (2.41) runs every mongod from 4.2 on.
	suite = "trixie"

	// No clock of an image is later than its build, none of its mongod binaries is older: 2025-01-01 00:00 UTC. Nothing in an image may depend on the time of day.
	epoch = 1735689600

	// Messages only: a root shell without a password must be asked for.
	login = "none"

	// Measured on the demo's system, 181 MB, in blocks of 128 KiB: zstd 3 packs in 0.9 s of CPU to 61 MB, zstd 6 in 2.0 s to 57 MB, zstd 15 in 28 s to 53 MB, lz4 in
	// 0.4 s to 84 MB; a node's mongod starts by 4.30, 4.36, 4.63 and 3.4 × 10^9 instructions.
	compression, level = "zstd", 3

	// MongoDB's own advice for WiredTiger, and the only one of the two whose absence its start-up warns about.
	dataFilesystem = "xfs"

	// A set is only founded when every other member has said that it knows of none: a silent one may be in one.
	bootstrap = "all"

	// mdadm's own is 512 KiB; 256 is that of the 2015 write-up, whose numbers are to be repeated.
	chunk = 256 * size.KiB
)

// No access times, as nobody reads them; nothing on a data disk is ever run, opened as a device or trusted to change its user.
var mountOptions = []string{"noatime", "noexec", "nodev", "nosuid"}

// What a node does beside its disks. 8080 is where people look for a page that is not the machine's main service; 100 MiB of log can still be
// opened in an editor, and four old ones are what the write-up of 2015 kept.
var settingsDefaults = spec.Settings{
	Tuning: spec.Tuning{Profile: "mongodb"},
	Status: spec.Page{Port: 8080},
	Logs:   spec.Logs{Rotate: "daily", Size: 100 * size.MiB, Keep: 4},
}

// Sizes on the medium. Two kernels with initramfs need 2 × 30 MiB of boot, and FAT32 with clusters of 2 KiB begins at 129 MiB. A system with mongod 6.0 is 65 MiB
// packed, with 8.0 about 100; its size cannot change later without losing state, so there is room for more than twice that. Not more: the image's hash knows no
// holes and takes 0.7 s for each GiB. state is grown at first boot.
var partitions = spec.Partitions{Boot: 256 * size.MiB, System: 256 * size.MiB, State: 64 * size.MiB}

// All of an image is hashed, at 0.7 s for each GiB.
const largest = 16 * size.GiB

// What bounds the sizes: FAT32 has at least 65,525 clusters, mke2fs wants room for a journal, and MBR-era tools stop at 2 TiB.
var smallest = spec.Partitions{Boot: 40 * size.MiB, System: 64 * size.MiB, State: 32 * size.MiB}

// The disk tools of the agent: arrays, volumes, the two file systems, and what a person needs to look.
var systemPackages = []string{"mdadm", "lvm2", "dmsetup", "e2fsprogs", "xfsprogs", "util-linux", "mount", "fdisk"}

// The libraries that MongoDB's own binaries for Ubuntu 22.04 and 24.04 ask for (readelf -d): OpenSSL 3, curl, lzma, libgcc and libc. Debian's newer names
// (libssl3t64) provide these older ones, but not on armhf, where time became 64 bits wide; MongoDB for 32 bits is older than OpenSSL 3 and asks for none of them.
var mongodPackages = map[spec.Arch][]string{
	spec.AMD64: {"libc6", "libgcc-s1", "liblzma5", "libssl3", "libcurl4"},
	spec.ARM64: {"libc6", "libgcc-s1", "liblzma5", "libssl3", "libcurl4"},
	spec.ARMHF: {"libc6", "libgcc-s1", "libstdc++6"},
}

// The u-root commands for a person at the console, and for the pipes of a script there. Those that pull in TLS or SSH cost megabytes and are left out.
var commands = []string{
	"cat", "chmod", "cmp", "cp", "date", "dd", "df", "dmesg", "du", "echo", "false", "find", "free", "gosh", "grep", "gzip", "head", "hexdump",
	"hostname", "ip", "kill", "ln", "ls", "lsmod", "mkdir", "more", "mount", "mv", "netstat", "pidof", "ping", "printenv", "ps", "pwd", "readlink", "rm",
	"shasum", "sleep", "sort", "stty", "sync", "tail", "tee", "touch", "tr", "true", "umount", "uname", "uniq", "uptime", "wc", "which", "xargs",
}

// GPT type GUIDs (UEFI 2.10, table 5.7; the BIOS boot partition is GRUB's).
const (
	typeBIOSBoot = "21686148-6449-6E6F-744E-656564454649"
	typeESP      = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"
	typeLinux    = "0FC63DAF-8483-4772-8E79-3D69D8477DE4"
)

// Types of an MBR.
const (
	mbrFAT32 = partition.TypeFAT32
	mbrLinux = partition.TypeLinux
)
