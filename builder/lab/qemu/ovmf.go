package qemu

import (
	"fmt"
	"io"
	"os"

	"grove/internal/spec"
)

// ovmf is where distributions keep the UEFI firmware of a PC, with 4 MiB of flash, and of ARM: Debian and Ubuntu, Fedora, Arch.
var ovmf = map[spec.Arch][]UEFI{
	spec.AMD64: {
		{"/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"},
		{"/usr/share/edk2/ovmf/OVMF_CODE_4M.fd", "/usr/share/edk2/ovmf/OVMF_VARS_4M.fd"},
		{"/usr/share/edk2/x64/OVMF_CODE.4m.fd", "/usr/share/edk2/x64/OVMF_VARS.4m.fd"},
	},
	spec.ARM64: {
		{"/usr/share/AAVMF/AAVMF_CODE.fd", "/usr/share/AAVMF/AAVMF_VARS.fd"},
		{"/usr/share/edk2/aarch64/QEMU_EFI-pflash.raw", "/usr/share/edk2/aarch64/vars-template-pflash.raw"},
		{"/usr/share/edk2/aarch64/QEMU_CODE.fd", "/usr/share/edk2/aarch64/QEMU_VARS.fd"},
	},
}

// uboot is where Debian and Ubuntu keep U-Boot for QEMU's virt of 32 bits.
const uboot = "/usr/lib/u-boot/qemu_arm/u-boot.bin"

// FindUBoot gives the host's U-Boot for 32-bit ARM.
func FindUBoot(exists func(path string) bool) (string, error) {
	if !exists(uboot) {
		return "", fmt.Errorf("find U-Boot for QEMU: %s is not there; run scripts/setup-host", uboot)
	}
	return uboot, nil
}

// FindUEFI gives the host's OVMF with its untouched variables, which are a template: a machine needs a copy of its own.
func FindUEFI(arch spec.Arch, exists func(path string) bool) (UEFI, error) {
	for _, u := range ovmf[arch] {
		if exists(u.Code) && exists(u.Vars) {
			return u, nil
		}
	}
	return UEFI{}, fmt.Errorf("find the UEFI firmware: neither %s nor its other places are there; run scripts/setup-host", ovmf[arch][0].Code)
}

// Own copies the variables to a file that belongs to one machine.
func (u UEFI) Own(vars string) (*UEFI, error) {
	from, err := os.Open(u.Vars)
	if err != nil {
		return nil, fmt.Errorf("copy the UEFI variables: %w", err)
	}
	defer from.Close()
	to, err := os.Create(vars)
	if err != nil {
		return nil, fmt.Errorf("copy the UEFI variables: %w", err)
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return nil, fmt.Errorf("copy the UEFI variables to %s: %w", vars, err)
	}
	return &UEFI{Code: u.Code, Vars: vars}, to.Close()
}
