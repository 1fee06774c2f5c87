// Package qemu runs one virtual machine: its command line, its monitor and its serial console.
//
// The command line is a pure function of a Machine. All three connections (console, monitor, network) are sockets on which the lab listens before QEMU is
// started, so that not a byte of the boot is lost and nothing has to be polled for. No root and no KVM: the processor is translated (TCG).
package qemu

import (
	"fmt"
	"strings"

	"grove/internal/size"
	"grove/internal/spec"
)

// Machine is a virtual PC or ARM machine with a disk to boot from and others beside it, one network card and one serial port.
type Machine struct {
	Name   string
	Arch   spec.Arch
	Type   string // q35; virt, of ARM
	CPU    string // max
	CPUs   int
	Memory size.Size
	UEFI   *UEFI  // nil: SeaBIOS, which QEMU carries itself, or UBoot
	UBoot  string // file of a U-Boot that stands for a board's own; of 32-bit ARM
	Bus    string // of the disk: virtio or nvme
	Disk   string // file, written to
	Raw    bool   // it is no qcow2
	SoC    string // program of a QEMU that has this board: a SoC with its boot ROM, an SD card and hosts of its own for all else, none of them on PCI
	Ports  int    // PCIe ports for disks, MaxPorts at most
	Port   int    // that of the disk to boot from, if it is virtio or nvme; 0: on the root bus, where the kernel meets it first
	USB    bool   // a USB host, even if no disk needs it yet
	Disks  []Disk
	MAC    string
	Date   string // that the hardware's clock shows at power-on, in UTC; empty: this machine's
	Paths         // of the sockets that QEMU connects to
	Blobs  []Blob
}

// UEFI is OVMF's code, which is only read, and this machine's own copy of its variables.
type UEFI struct{ Code, Vars string }

// Blob is a file that the guest reads by its name through fw_cfg.
type Blob struct{ Name, File string }

// programs are QEMU's names for itself.
var programs = map[spec.Arch]string{spec.AMD64: "qemu-system-x86_64", spec.ARM64: "qemu-system-aarch64", spec.ARMHF: "qemu-system-arm"}

// Program is QEMU's name for an architecture.
func Program(arch spec.Arch) string { return programs[arch] }

// BIOS tells whether SeaBIOS starts the machine.
func (m Machine) BIOS() bool { return m.UEFI == nil && m.UBoot == "" && m.SoC == "" }

// Program is the QEMU that has this machine.
func (m Machine) Program() string {
	if m.SoC != "" {
		return m.SoC
	}
	return Program(m.Arch)
}

// Args is the command line after the program's name.
//
// -no-reboot makes QEMU end when the guest restarts by itself, which in the lab is a kernel panic or a fault.
func (m Machine) Args() []string {
	if m.SoC != "" {
		return m.board()
	}
	args := []string{
		"-name", m.Name,
		"-machine", m.kind(), "-accel", "tcg,thread=multi", "-cpu", m.CPU,
		"-smp", fmt.Sprint(m.CPUs), "-m", fmt.Sprintf("%dM", int64(m.Memory/size.MiB)),
		"-display", "none", "-nodefaults", "-no-user-config", "-no-reboot",
	}
	if m.Date != "" {
		args = append(args, "-rtc", "base="+quote(m.Date))
	}
	args = append(args, m.firmware()...)
	args = append(args, m.data()...)
	args = append(args, m.disk()...)
	args = append(args,
		"-chardev", "socket,id=console,server=off,path="+quote(m.Console), "-serial", "chardev:console",
		"-chardev", "socket,id=monitor,server=off,path="+quote(m.Monitor), "-mon", "chardev=monitor,mode=control",
		"-netdev", "stream,id=net,server=off,addr.type=unix,addr.path="+quote(m.Network),
		"-device", "virtio-net-pci,netdev=net,romfile=,mac="+m.MAC,
		"-object", "rng-random,id=random,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=random")
	for _, b := range m.Blobs {
		args = append(args, "-fw_cfg", "name="+quote(b.Name)+",file="+quote(b.File))
	}
	return args
}

// board is the command line for a board, whose processor, Ethernet and hosts are fixed. It has no source of random numbers and no fw_cfg.
func (m Machine) board() []string {
	args := []string{
		"-name", m.Name, "-machine", m.Type, "-accel", "tcg,thread=multi", "-m", fmt.Sprintf("%dM", int64(m.Memory/size.MiB)),
		"-display", "none", "-nodefaults", "-no-user-config", "-no-reboot",
		"-drive", "if=sd,format=raw,file=" + quote(m.Disk),
	}
	if m.Date != "" {
		args = append(args, "-rtc", "base="+quote(m.Date))
	}
	args = append(args, m.attached()...)
	return append(args,
		"-chardev", "socket,id=console,server=off,path="+quote(m.Console), "-serial", "chardev:console",
		"-chardev", "socket,id=monitor,server=off,path="+quote(m.Monitor), "-mon", "chardev=monitor,mode=control",
		"-netdev", "stream,id=net,server=off,addr.type=unix,addr.path="+quote(m.Network),
		"-net", "nic,netdev=net,macaddr="+m.MAC)
}

// kind is the machine's type with what it needs. Debian's kernel for 32-bit ARM has no LPAE, and finds no PCI above 4 GiB.
func (m Machine) kind() string {
	if m.Arch == spec.ARMHF {
		return m.Type + ",highmem=off"
	}
	return m.Type
}

// firmware gives SeaBIOS its debug port, for without a display it says nowhere else that it found nothing to boot. OVMF speaks on the console.
func (m Machine) firmware() []string {
	if m.UBoot != "" {
		return []string{"-bios", m.UBoot}
	}
	if m.UEFI == nil {
		return []string{"-chardev", "socket,id=firmware,server=off,path=" + quote(m.Firmware), "-device", "isa-debugcon,iobase=0x402,chardev=firmware"}
	}
	return []string{
		"-drive", "if=pflash,format=raw,unit=0,readonly=on,file=" + quote(m.UEFI.Code),
		"-drive", "if=pflash,format=raw,unit=1,file=" + quote(m.UEFI.Vars),
	}
}

func (m Machine) disk() []string {
	device, format := "virtio-blk-pci,drive=disk,bootindex=0", "qcow2"
	switch {
	case m.UBoot != "": // U-Boot finds what is on virtio's own bus before all else, and knows no order but its own
		device = "virtio-blk-device,drive=disk"
	case m.Bus == "nvme":
		device = "nvme,drive=disk,bootindex=0,serial=" + quote(m.Name)
	}
	if m.Port > 0 && m.UBoot == "" {
		device += ",bus=" + portID(m.Port)
	}
	if m.Raw {
		format = "raw"
	}
	return []string{"-drive", "if=none,id=disk,format=" + format + ",discard=unmap,file=" + quote(m.Disk), "-device", device}
}

// quote doubles commas, which part QEMU's options.
func quote(s string) string { return strings.ReplaceAll(s, ",", ",,") }
