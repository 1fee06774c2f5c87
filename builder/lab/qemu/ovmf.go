package qemu

import (
	"fmt"
	"io"
	"os"
)

// ovmf is where distributions keep OVMF with 4 MiB of flash: Debian and Ubuntu, Fedora, Arch.
var ovmf = []UEFI{
	{"/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"},
	{"/usr/share/edk2/ovmf/OVMF_CODE_4M.fd", "/usr/share/edk2/ovmf/OVMF_VARS_4M.fd"},
	{"/usr/share/edk2/x64/OVMF_CODE.4m.fd", "/usr/share/edk2/x64/OVMF_VARS.4m.fd"},
}

// FindUEFI gives the host's OVMF with its untouched variables, which are a template: a machine needs a copy of its own.
func FindUEFI(exists func(path string) bool) (UEFI, error) {
	for _, u := range ovmf {
		if exists(u.Code) && exists(u.Vars) {
			return u, nil
		}
	}
	return UEFI{}, fmt.Errorf("find the UEFI firmware: neither %s nor its other places are there; run scripts/setup-host", ovmf[0].Code)
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
