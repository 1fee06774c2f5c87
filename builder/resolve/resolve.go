// Package resolve makes the complete spec of an image out of a recipe and its board: defaults filled in, rules checked, nothing left open.
//
// It decides and touches nothing: no disk, no network, no clock. What can't boot or run is a finding at its place in the file, all of them at once.
package resolve

import (
	"path/filepath"
	"strings"

	"grove/builder/catalog"
	"grove/internal/diag"
	"grove/internal/partition"
	"grove/internal/settings"
	"grove/internal/size"
	"grove/internal/spec"
)

// Image fills in the pair. The image is of use only without findings.
func Image(p catalog.Pair) (spec.Image, diag.Findings) {
	r := &rules{pair: p}
	r.board()
	r.debian()
	r.mongod()
	r.uboot()
	r.packages()
	r.storage()
	r.swap()
	settings.Check(p.Recipe.Settings, r.recipe)
	r.rest()
	if len(r.found) > 0 {
		return spec.Image{}, r.found
	}
	return fill(p), nil
}

func fill(p catalog.Pair) spec.Image {
	in := p.Recipe
	i := spec.Image{Name: in.Name, Title: or(in.Title, in.Name), Time: epoch, BoardName: p.Board.Name, Board: p.Board, Mongod: in.Mongod,
		Seed:    or(in.Seed, in.Name+"@"+p.Board.Name),
		Debian:  spec.Debian{Suite: or(in.Debian.Suite, suite), Mirror: in.Debian.Mirror, Keyring: in.Debian.Keyring},
		Console: spec.Console{Login: or(in.Console.Login, login)},
		System:  spec.System{Compression: or(in.System.Compression, compression), Level: in.System.Level},
	}
	if i.System.Compression == "zstd" && i.System.Level == 0 {
		i.System.Level = level
	}
	i.Packages = append(append([]string{}, systemPackages...), in.Packages...)
	if len(i.Mongod.Packages) == 0 {
		i.Mongod.Packages = mongodPackages[p.Board.Arch]
	}
	i.UBoot = spec.File{File: at(p.Folder, in.UBoot.File), SHA256: in.UBoot.SHA256}
	i.Mongod.Source.File = at(p.Folder, i.Mongod.Source.File)
	if !strings.Contains(i.Mongod.Source.Deb, "://") {
		i.Mongod.Source.Deb = at(p.Folder, i.Mongod.Source.Deb)
	}
	for _, name := range commands {
		i.Commands = append(i.Commands, "github.com/u-root/u-root/cmds/core/"+name)
	}
	i.Cmdline = strings.TrimSpace(cmdline(p.Board) + " " + in.Kernel.Append)
	i.Partitions = layout(i.Seed, p.Board, in.Partitions)
	i.Cluster, i.Storage, i.Swap = or(in.Cluster, in.Name), storage(in.Storage), in.Swap
	i.Settings = in.Settings.Over(settingsDefaults)
	if i.Settings.ReplicaSet.Name != "" {
		i.Settings.ReplicaSet.Bootstrap = or(i.Settings.ReplicaSet.Bootstrap, bootstrap)
	}
	return i
}

// cmdline is the kernel's: a panic ends in a restart, not in a dead console; the serial console comes last, since /dev/console is the last one named. The PCs are virtual
// machines, on whose crowded hosts the kernel's check of the timer fails now and then, which is a panic (Documentation/admin-guide/kernel-parameters.txt, no_timer_check).
// On ARM the device tree or the firmware's tables (ACPI's SPCR) name the console: the board's serial port, or that of the machine of QEMU which stands for it. A board may name another.
func cmdline(b spec.Board) string {
	var words []string
	if b.Console != "" {
		words = append(words, "console=tty0", "console="+b.Console)
	}
	words = append(words, "panic=10")
	if b.Arch == spec.AMD64 {
		words = append(words, "no_timer_check")
	}
	return strings.Join(append(words, "quiet"), " ")
}

// layout places the partitions one behind the other. The first 4 MiB hold the partition table and GRUB's core or U-Boot; 4 MiB is also the erase block of most flash.
func layout(seed string, b spec.Board, sizes spec.Partitions) []spec.Partition {
	boot, system, state := orSize(sizes.Boot, partitions.Boot), orSize(sizes.System, partitions.System), orSize(sizes.State, partitions.State)
	esp, linux := typeESP, typeLinux
	if b.OnSunxi() {
		esp, linux = mbrFAT32, mbrLinux
	}
	list := []spec.Partition{
		{Role: "boot", Label: "GROVE-BOOT", Type: esp, Size: boot},
		{Role: "system-a", Label: "system-a", Type: linux, Size: system},
		{Role: "system-b", Label: "system-b", Type: linux, Size: system},
		{Role: "state", Label: "state", Type: linux, Size: state},
	}
	if !b.OnSunxi() {
		list = append([]spec.Partition{{Role: "bios-boot", Label: "bios-boot", Type: typeBIOSBoot, Start: size.MiB, Size: size.MiB}}, list...)
	}
	next := 4 * size.MiB
	for n := range list {
		p := &list[n]
		p.UUID = spec.ID(seed, "partition/"+p.Role)
		if b.OnSunxi() {
			p.UUID = partition.PartUUID(spec.DiskID(seed, b), n+1)
		}
		if p.Start == 0 {
			p.Start = next
			next += p.Size
		}
		switch p.Role {
		case "boot":
			p.FS = strings.ToUpper(spec.ID(seed, "fs/boot")[:8])
		case "state":
			p.FS = spec.ID(seed, "fs/state")
		}
	}
	return list
}

// at takes a file that a recipe names against the recipe's folder.
func at(folder, file string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(folder, file)
}

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

func orSize(s, instead size.Size) size.Size {
	if s == 0 {
		return instead
	}
	return s
}
