package bay

import (
	"fmt"
	"slices"
	"strings"

	"grove/builder/lab/qemu"
	"grove/internal/size"
)

// spare is how many PCIe ports stay free, for disks that come while the machine runs.
const spare = 2

// Equip gives a machine the disks that are in. A node without any keeps the plain machine.
//
// All that sits on PCI gets a port of its own, the medium too: the kernel meets what is on the root bus before all that is behind a port, and the order is to be ours.
func (b *Bay) Equip(m qemu.Machine) qemu.Machine {
	b.mu.Lock()
	defer b.mu.Unlock()
	m.Ports, m.Port, m.Disks, m.USB = 0, 0, nil, false
	if len(b.disks) == 1 {
		return m
	}
	sata := 0
	for _, s := range b.disks {
		d := s.machine()
		switch {
		case s.path == "":
			m.Ports++
			m.Port = m.Ports
			continue
		case s.Bus == "virtio" || s.Bus == "nvme": // also of one that is out: it may come back
			m.Ports++
			s.port, d.Port = m.Ports, m.Ports
		case s.Bus == "sata":
			d.Port = sata
			sata++
		case s.Bus == "usb":
			m.USB = true
		}
		if !s.out {
			m.Disks = append(m.Disks, d)
		}
	}
	m.Ports = min(m.Ports+spare, qemu.MaxPorts)
	return m
}

// Machine is one disk as the running machine has it or would have it.
func (b *Bay) Machine(name string) (qemu.Disk, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := b.data(name)
	if err != nil {
		return qemu.Disk{}, err
	}
	return s.machine(), nil
}

func (s *slot) machine() qemu.Disk {
	return qemu.Disk{ID: "data-" + s.Name, Bus: s.Bus, File: s.path, Serial: s.Serial, Model: s.Model, Port: s.port}
}

// limits are those of the guest's own fields: ATA's serial has 20 characters and its model 40, SCSI's product 16, and so on.
var limits = map[string]struct{ serial, model int }{
	"virtio": {20, 0}, "nvme": {20, 0}, "sata": {20, 40}, "usb": {36, 0}, "scsi": {36, 16},
}

func (d Disk) check() error {
	limit, known := limits[d.Bus]
	switch {
	case !known || !slices.Contains(qemu.Buses, d.Bus):
		return fmt.Errorf("disk %s: have bus %q, want one of %s", d.Name, d.Bus, strings.Join(qemu.Buses, ", "))
	case !name(d.Name) || d.Name == Medium:
		return fmt.Errorf("disk %q: want a name of letters, digits and -, not %s", d.Name, Medium)
	case d.Size < size.MiB || d.Size%512 != 0:
		return fmt.Errorf("disk %s: have %s, want 1MiB or more in sectors of 512", d.Name, d.Size)
	case len(d.Serial) > limit.serial || strings.ContainsFunc(d.Serial, unprintable):
		return fmt.Errorf("disk %s: serial %q, want at most %d printable characters on %s", d.Name, d.Serial, limit.serial, d.Bus)
	case len(d.Model) > limit.model || strings.ContainsFunc(d.Model, unprintable):
		return fmt.Errorf("disk %s: model %q, want at most %d printable characters on %s", d.Name, d.Model, limit.model, d.Bus)
	}
	return nil
}

func unprintable(r rune) bool { return r < ' ' || r > '~' }

func name(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-')
	})
}
