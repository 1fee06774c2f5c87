package plan

import (
	"fmt"
	"slices"

	"grove/firstboot/facts"
	"grove/firstboot/plan/act"
	"grove/firstboot/plan/disks"
	"grove/firstboot/plan/identity"
	"grove/internal/spec"
)

// place is a file system and where it belongs.
type place struct {
	device
	role  identity.Role
	on    string
	share spec.Percent // of the group, 0 without one
}

// The mount points, in the order of mounting. mongod looks for its journal in the folder journal of its data.
const (
	dataOn    = "/data"
	logOn     = "/log"
	journalOn = "/journal"
)

// disk finds the one disk without an array, or picks a blank one.
func (d *decision) disk() (device, bool) {
	id := d.want.Identity
	kind, uuid := act.MakeFS, id.UUID(identity.Data)
	if d.volumes() != nil {
		kind, uuid = act.CreatePV, id.PV()
	}
	on, pending := d.pending(kind, uuid, "")
	var mine []facts.Disk
	for _, disk := range d.have.Disks {
		if disk.Class != facts.System && (disk.Content.UUID == uuid || pending && disks.NothingKnown(disk.Content) && !disk.Content.Blank() && !disks.Untouchable(disk) && disks.BegunOn(on, disk)) {
			mine = append(mine, disk)
		}
	}
	if len(mine) > 1 {
		d.refuse("data of "+id.String(), "is on "+disks.Names(mine)+", one a copy of the other: take the copy away", nil, "")
		return device{}, false
	}
	if len(mine) == 0 {
		chosen, ok := d.chosen("data of "+id.String(), func(facts.Disk) bool { return false })
		if !ok {
			return device{}, false
		}
		mine = chosen
	}
	one := mine[0]
	return device{name: one.Name, dev: one.Dev, kernel: one.Name, disks: disks.Of(mine), content: one.Content}, true
}

// volumes are the places that the recipe asks volumes for; nil with one file system for all.
func (d *decision) volumes() (all []place) {
	v := d.want.Storage.Volumes
	for _, p := range []place{{role: identity.Data, on: dataOn, share: v.Data}, {role: identity.Log, on: logOn, share: v.Log}, {role: identity.Journal, on: journalOn, share: v.Journal}} {
		if p.share > 0 {
			all = append(all, p)
		}
	}
	return all
}

// places gives the devices of the file systems: the base itself, or volumes on it.
func (d *decision) places(base device) ([]place, bool) {
	all := d.volumes()
	if all == nil {
		return []place{{device: base, role: identity.Data, on: dataOn}}, true
	}
	for n := range all {
		name := all[n].on[1:]
		all[n].device = device{name: identity.Group + "/" + name, dev: "/dev/" + identity.Group + "/" + name, disks: base.disks, sight: fresh}
	}
	group, found := d.group()
	switch {
	case found && group.Missing > 0:
		d.refuse("volume group "+identity.Group, fmt.Sprintf("%d of its physical volumes are missing", group.Missing), disks.Visible(d.have.Disks), "")
		return nil, false
	case found:
		return all, d.existing(base, group, all)
	case base.sight == hidden && d.sealed():
		d.activate(base.dev)
		for n := range all {
			all[n].sight = hidden
		}
		return all, true
	case base.sight == hidden:
		d.plan.More = true
		return nil, false
	}
	return all, d.createGroup(base) && d.createVolumes(base.dev, base.disks, all)
}

func (d *decision) group() (facts.Group, bool) {
	for _, g := range d.have.Groups {
		if i, ok := identity.OfGroup(g.Tags); ok && i == d.want.Identity && g.Name == identity.Group {
			return g, true
		}
	}
	return facts.Group{}, false
}

// createGroup makes the physical volume and the group on it, as far as they are not there.
func (d *decision) createGroup(base device) bool {
	id := d.want.Identity
	_, pending := d.pending(act.CreatePV, id.PV(), "")
	switch c := base.content; {
	case base.sight == seen && c.UUID == id.PV() && c.Group == "":
	case base.sight == fresh || c.Blank() || pending && disks.NothingKnown(c):
		redo := base.sight == seen && !c.Blank()
		if !d.recording(base) {
			return false
		}
		d.add(act.Act{Kind: act.CreatePV, Dev: base.dev, Disks: base.disks, UUID: id.PV(), Redo: redo, Name: "create physical volume on " + base.name})
	default:
		d.foreign(base)
		return false
	}
	if !d.recording(base) {
		return false
	}
	d.add(act.Act{Kind: act.CreateGroup, Dev: identity.Group, From: []string{base.dev}, Disks: base.disks, UUID: id.PV(), Label: identity.Group, Tags: id.Tags(),
		Name: "create volume group " + identity.Group + " on " + base.name})
	return true
}

func (d *decision) createVolumes(on string, disks []act.Disk, missing []place) bool {
	for _, p := range missing {
		if !d.recording(p.device) {
			return false
		}
		d.add(act.Act{Kind: act.CreateVolume, Dev: p.dev, From: []string{on}, Disks: disks, Label: p.on[1:], Percent: int(p.share), Name: fmt.Sprintf("create volume %s, %d%%", p.name, p.share)})
	}
	return true
}

// existing looks at the volumes of our group, has them activated, and makes those that are missing.
func (d *decision) existing(base device, g facts.Group, all []place) bool {
	var missing []place
	asleep := false
	for n := range all {
		p := &all[n]
		at := slices.IndexFunc(d.have.Volumes, func(v facts.Volume) bool { return v.GroupID == g.UUID && v.Name == p.on[1:] })
		if at < 0 {
			missing = append(missing, *p)
			continue
		}
		v := d.have.Volumes[at]
		p.content, p.sight, p.kernel = v.Content, seen, v.Kernel
		if !v.Active {
			p.sight, asleep = hidden, true
		}
	}
	on := base.dev
	if len(g.Devices) > 0 {
		on = g.Devices[0]
	}
	if asleep {
		d.activate(on)
	}
	return d.createVolumes(on, base.disks, missing)
}

func (d *decision) activate(dev string) {
	d.add(act.Act{Kind: act.Activate, Dev: identity.Group, From: []string{dev}, Name: "activate volume group " + identity.Group})
}

// recording refuses to make anything on a device without a journal.
func (d *decision) recording(on device) bool {
	if !d.want.Recording {
		d.refuse(on.name, "there is no journal on the state partition, and nothing is made without one", nil, "")
	}
	return d.want.Recording
}

// foreign refuses a device of ours that carries what is not ours: something on the disks has come to light with it.
func (d *decision) foreign(on device) {
	evidence := append([]string{}, on.content.Signatures...)
	if c := on.content; c.Type != "" {
		evidence = append(evidence, fmt.Sprintf("%s, label %q, UUID %s", c.Type, c.Label, c.UUID))
	}
	if on.content.Data != "" {
		evidence = append(evidence, "data "+on.content.Data)
	}
	if on.content.Fault != "" {
		evidence = append(evidence, on.content.Fault)
	}
	d.refuse(on.name, "is ours, and what is on it is not", evidence, "blkdiscard -f -z "+on.dev)
}
