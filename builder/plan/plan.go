// Package plan lists what is done to make an image, in words, before anything is done.
//
// It decides order and wording and nothing else; package build gives each step its hands by the step's ID.
package plan

import (
	"fmt"
	"strings"

	"grove/internal/spec"
	"grove/internal/step"
)

// The steps' IDs.
const (
	Index     = "index"
	Tools     = "tools"
	Packages  = "packages"
	Kernel    = "kernel"
	Mongod    = "mongod"
	Busybox   = "busybox"
	Agent     = "agent"
	System    = "system"
	State     = "state"
	Loader    = "loader"
	Initramfs = "initramfs"
	Write     = "image"
)

// Image is the plan of an image. The steps have no Run yet.
func Image(i spec.Image) []step.Step {
	arch, state := i.Board.Arch, i.Partition("state")
	return []step.Step{
		{ID: Index, Name: fmt.Sprintf("read the package index of Debian %s, %s", i.Debian.Suite, arch)},
		{ID: Mongod, Name: fmt.Sprintf("take mongod %s out of %s", i.Mongod.Version, i.Mongod.Source.Name())},
		{ID: Busybox, Name: fmt.Sprintf("build a busybox of %d u-root commands for %s", len(i.Commands), arch)},
		{ID: Agent, Name: fmt.Sprintf("build the agent for %s", arch)},
		{ID: Tools, Name: "unpack the host tools: " + tools(i.Board), After: []string{Index}},
		{ID: Kernel, Name: fmt.Sprintf("pick the kernel and its modules out of %s", i.Board.Kernel.Package), After: []string{Index}},
		{ID: Packages, Name: fmt.Sprintf("fetch the packages of %s", strings.Join(append(append([]string{}, i.Packages...), "mongod's libraries"), ", ")), After: []string{Index}},
		{ID: Loader, Name: loader(i), After: []string{Tools}},
		{ID: State, Name: fmt.Sprintf("make ext4 on state, %s, label %s", state.Size, state.Label), After: []string{Tools}},
		{ID: System, Name: fmt.Sprintf("make squashfs of the system, %s", packing(i.System)), After: []string{Tools, Packages, Kernel, Mongod}},
		{ID: Initramfs, Name: "join the initramfs: busybox, modules, agent, configuration", After: []string{Busybox, Agent, Kernel}},
		{ID: Write, Name: fmt.Sprintf("write %s.img, %s in %d partitions", i.Name, i.Disk(), len(i.Partitions)), After: []string{Loader, State, System, Initramfs}},
	}
}

func tools(b spec.Board) string {
	if b.OnSunxi() {
		return "mksquashfs, mke2fs"
	}
	return "mksquashfs, mke2fs, grub-mkimage"
}

func loader(i spec.Image) string {
	switch {
	case i.UBoot.File != "":
		return "check the recipe's U-Boot"
	case i.Board.OnSunxi():
		return fmt.Sprintf("take U-Boot %s, %s", i.Board.UBoot.Version, i.Board.UBoot.Defconfig)
	}
	return fmt.Sprintf("make GRUB for %s", strings.Join(i.Board.Firmware, " and "))
}

func packing(s spec.System) string {
	if s.Level == 0 {
		return s.Compression
	}
	return fmt.Sprintf("%s level %d", s.Compression, s.Level)
}
