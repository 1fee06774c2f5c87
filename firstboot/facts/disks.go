package facts

import (
	"slices"

	"grove/firstboot/facts/slot"
	"grove/firstboot/facts/sysfs"
	"grove/internal/host"
)

// Disks is a quick look at which disks there are, for whoever waits for one: all that Pick asks, nothing of what they carry. A /dev stands below root.
func Disks(machine host.Machine, root string) (disks []Disk, remarks []string, err error) {
	found, err := sysfs.Disks(root)
	if err != nil {
		return nil, nil, err
	}
	var slots []slot.Disk
	for _, f := range found {
		d := Disk{Name: f.Name, Dev: root + "/dev/" + f.Name, Size: f.Size, Serial: f.Serial, Model: f.Model, Bus: f.Bus, EBS: slot.EBS(f.Model, f.Serial),
			Holders: f.Holders, ReadOnly: f.ReadOnly}
		for _, p := range f.Parts {
			d.Parts = append(d.Parts, Part{Dev: root + "/dev/" + p.Name, Name: p.Name, Number: p.Number, Size: p.Size})
		}
		disks, slots = append(disks, d), append(slots, slot.Disk{Kernel: f.Name, Bus: f.Bus, Asked: asked(machine, d)})
	}
	names, remarks := slot.Names(slots)
	for n := range disks {
		disks[n].Names = names[n]
	}
	return disks, remarks, nil
}

// asked is the name that a disk of EC2 was attached by. A controller that does not answer has a serial number, still.
func asked(machine host.Machine, d Disk) string {
	if !slices.Contains(slot.NitroModels, d.Model) {
		return ""
	}
	data, err := machine.IdentifyNVMe(d.Dev)
	if err != nil {
		return ""
	}
	return slot.ParseNitro(data)
}
