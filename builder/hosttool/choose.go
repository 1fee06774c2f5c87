package hosttool

import (
	"fmt"
	"slices"
	"strings"

	"grove/builder/debian"
	"grove/internal/spec"
)

// set is what an image's making needs: programs, of this machine's architecture and with their libraries, and plain data of the image's.
type set struct{ programs, data []string }

func setFor(image spec.Arch) set {
	s := set{programs: []string{"e2fsprogs", "squashfs-tools"}}
	switch image { // the boards that start by GRUB
	case spec.AMD64:
		s.programs = append(s.programs, "grub-common")
		s.data = []string{"grub-efi-amd64-bin", "grub-pc-bin"}
	case spec.ARM64:
		s.programs = append(s.programs, "grub-common")
		s.data = []string{"grub-efi-arm64-bin"}
	}
	return s
}

// without is what the programs' packages ask for and the programs used here do not: scripts, set-up, mounting, fonts, firmware variables.
var without = []string{
	"debconf", "dpkg", "gettext-base", "init-system-helpers", "logsave", "perl*", "python3*", "ucf", "udev", "dmsetup",
	"libefi*", "libfreetype*", "libfuse*", "fuse*", "grub2-common", "os-prober",
}

// Packages chooses those of the tools: own is the index of this machine's architecture (Arch), image that of the image's, and both may be the same.
func Packages(own, image *debian.Index, arch spec.Arch) ([]debian.Package, error) {
	s := setFor(arch)
	all, err := own.Closure(s.programs, without)
	if err != nil {
		return nil, fmt.Errorf("host tools: %w", err)
	}
	if len(s.data) > 0 {
		data, err := image.Closure(s.data, []string{"*"})
		if err != nil {
			return nil, fmt.Errorf("host tools: %w", err)
		}
		all = append(all, data...)
	}
	slices.SortStableFunc(all, func(a, b debian.Package) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
