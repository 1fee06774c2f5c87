package qemu

import (
	"context"
	"fmt"
	"slices"

	"grove/internal/spec"
)

// Disk is one beside that which the machine boots from. Its file is raw and stays in the host's page cache: what the guest was told is written outlives a QEMU
// that is killed, as it would outlive a power cut on a disk whose cache has a battery. A disk's own volatile cache can't be lost here.
type Disk struct {
	ID     string // for the monitor; letters and digits
	Bus    string // one of Buses
	File   string
	Serial string
	Model  string // of sata and scsi; the others have QEMU's
	Port   int    // of virtio and nvme: the PCIe port, from 1; the kernel meets them in that order. Of sata: the AHCI port, from 0
	onSoC  bool
}

// Buses are the ways a disk can be attached. NVMe's vendor field, which has the requested name on EC2, can't be set; Xen and MMC can't be had on a q35.
var Buses = []string{"virtio", "nvme", "sata", "usb", "scsi"}

// MaxPorts is how many PCIe ports fit beside the machine's own devices on the root bus, SATAPorts how many the q35's AHCI has.
const MaxPorts, SATAPorts = 16, 6

// Hot tells whether a disk of this kind can be pulled while the machine runs: it sits behind a port of its own, on USB or on virtio-scsi. QEMU's AHCI can't.
func (d Disk) Hot() bool { return d.Bus != "sata" }

// onPort tells whether the disk takes a PCIe port.
func (d Disk) onPort() bool { return d.Bus == "virtio" || d.Bus == "nvme" }

// device is the disk for -device, which device_add takes too.
func (d Disk) device() []option {
	o := []option{{"driver", ""}, {"id", d.ID}, {"drive", d.ID}, {"serial", d.Serial}}
	on := func(driver, bus string, more ...option) []option {
		o[0].value = driver
		return append(append(o, option{"bus", bus}), more...)
	}
	model := func(key string) []option {
		if d.Model == "" {
			return nil
		}
		return []option{{key, d.Model}}
	}
	switch d.Bus {
	case "nvme":
		return on("nvme", portID(d.Port))
	case "sata":
		return on("ide-hd", fmt.Sprintf("ide.%d", d.Port), model("model")...)
	case "usb":
		if d.onSoC {
			return on("usb-storage", "usb-bus.0")
		}
		return on("usb-storage", "usb.0")
	case "scsi":
		return on("scsi-hd", "scsi.0", model("product")...)
	}
	return on("virtio-blk-pci", portID(d.Port))
}

func portID(n int) string { return fmt.Sprintf("port%d", n) }

// option is a key and its value; a list keeps their order for the golden files.
type option struct{ key, value string }

// line writes options as they stand on a command line.
func line(options []option) (text string) {
	for n, o := range options {
		if n == 0 {
			text = quote(o.value)
			continue
		}
		text += "," + o.key + "=" + quote(o.value)
	}
	return text
}

// data gives the ports, the hosts of USB and SCSI where a disk wants one, and the disks.
func (m Machine) data() (args []string) {
	for n := range m.Ports {
		args = append(args, "-device", fmt.Sprintf("pcie-root-port,id=%s,bus=pcie.0,chassis=%d,addr=%#x", portID(n+1), n+1, firstPort+n))
	}
	hosts := []struct{ bus, device string }{{"usb", "qemu-xhci,id=usb,p2=8,p3=8,addr=0x1d"}, {"scsi", "virtio-scsi-pci,id=scsi,addr=0x1e"}}
	if m.Arch != spec.AMD64 { // the q35 has its own, whose buses are called so too
		hosts = append(hosts, struct{ bus, device string }{"sata", "ich9-ahci,id=ide,addr=0x1f"})
	}
	for _, host := range hosts {
		if m.USB && host.bus == "usb" || slices.ContainsFunc(m.Disks, func(d Disk) bool { return d.Bus == host.bus }) {
			args = append(args, "-device", host.device)
		}
	}
	return append(args, m.attached()...)
}

// attached are the disks on hosts that are there.
func (m Machine) attached() (args []string) {
	for _, d := range m.Disks {
		d.onSoC = m.SoC != ""
		args = append(args, "-blockdev", "driver=raw,discard=unmap,node-name="+d.ID+",file.driver=file,file.filename="+quote(d.File), "-device", line(d.device()))
	}
	return args
}

// firstPort is the slot of port 1 on the root bus: above those that QEMU gives out by itself, below AHCI's 0x1f.
const firstPort = 0x0c

// Plug puts a disk into a running machine.
func (m *Monitor) Plug(ctx context.Context, d Disk) error {
	err := m.ask(ctx, "blockdev-add", map[string]any{"driver": "raw", "discard": "unmap", "node-name": d.ID, "file": map[string]any{"driver": "file", "filename": d.File}})
	if err != nil {
		return err
	}
	args := map[string]any{}
	for _, o := range d.device() {
		args[o.key] = o.value
	}
	return m.ask(ctx, "device_add", args)
}

// Unplug takes a disk out of a running machine, whose kernel has to let go of it first; ctx needs an end.
func (m *Monitor) Unplug(ctx context.Context, id string) error {
	gone := m.deletion(id)
	if err := m.ask(ctx, "device_del", map[string]any{"id": id}); err != nil {
		return err
	}
	select {
	case <-gone:
	case <-m.ended:
		return fmt.Errorf("unplug %s: QEMU has ended", id)
	case <-ctx.Done():
		return fmt.Errorf("unplug %s: the guest does not let go of it: %w", id, context.Cause(ctx))
	}
	return m.ask(ctx, "blockdev-del", map[string]any{"node-name": id})
}
