package plan

import (
	"fmt"
	"slices"
	"strings"

	"grove/firstboot/facts"
	"grove/firstboot/journal"
	"grove/firstboot/plan/act"
	"grove/firstboot/plan/disks"
	"grove/firstboot/plan/identity"
)

// fileSystems has the missing ones made.
func (d *decision) fileSystems(places []place) bool {
	for n := range places {
		p := &places[n]
		if d.mounted(*p) {
			continue
		}
		uuid, want := d.want.Identity.UUID(p.role), d.want.Storage.Filesystem
		on, pending := d.pending(act.MakeFS, uuid, "")
		c := p.content
		switch {
		case p.sight == hidden && !d.sealed():
			d.plan.More = true
			return false
		case p.sight == hidden, c.UUID == uuid && !pending:
			if c.Type != "" && c.Type != want {
				d.plan.Notes = append(d.plan.Notes, fmt.Sprintf("%s is %s, the recipe wants %s: it is served as it is", p.name, c.Type, want))
			}
			continue
		case p.sight == fresh, c.Blank(), pending && (c.UUID == uuid || disks.NothingKnown(c) && d.resumable(*p, on)):
			if !d.recording(p.device) {
				return false
			}
			redo := p.sight == seen && !c.Blank()
			p.sight = fresh
			d.add(act.Act{Kind: act.MakeFS, Dev: p.dev, Disks: p.disks, UUID: uuid, Redo: redo, Type: want, Label: d.want.Identity.Label(),
				Name: fmt.Sprintf("make %s on %s, label %s", want, p.name, d.want.Identity.Label())})
		default:
			d.foreign(p.device)
			return false
		}
	}
	return true
}

// resumable says that what a cut-off mkfs has left is on the device that it was begun on: an array or a group proves itself by its own UUID and tags, a bare disk
// must be the same by its serial number.
func (d *decision) resumable(p place, on []journal.Disk) bool {
	if p.share > 0 || d.want.Storage.Raid.Level != "none" {
		return true
	}
	return slices.ContainsFunc(d.have.Disks, func(disk facts.Disk) bool { return disk.Dev == p.dev && disks.BegunOn(on, disk) })
}

// mounts puts the file systems where they belong, and seals them when all was made.
func (d *decision) mounts(places []place) {
	mounting := false
	var uuids = map[string]string{}
	for _, p := range places {
		uuids[string(p.role)] = d.want.Identity.UUID(p.role)
		if d.mounted(p) {
			d.plan.Ready = append(d.plan.Ready, fmt.Sprintf("%s on %s", p.name, p.on))
			continue
		}
		if m, taken := d.mountAt(p.on); taken {
			d.refuse(p.name, fmt.Sprintf("%s is mounted on %s", m.Dev, p.on), nil, "umount "+p.on)
			return
		}
		mounting = true
		kind := p.content.Type
		if kind == "" || p.sight == fresh {
			kind = d.want.Storage.Filesystem
		}
		d.add(act.Act{Kind: act.Mount, Dev: p.dev, UUID: d.want.Identity.UUID(p.role), Type: kind, On: p.on, Options: d.want.Storage.Options,
			Name: fmt.Sprintf("mount %s on %s, %s", p.name, p.on, strings.Join(d.want.Storage.Options, " "))})
	}
	sealed := d.sealed()
	if places[len(places)-1].role == identity.Journal && (mounting || !sealed) {
		d.add(act.Act{Kind: act.Link, Dev: dataOn + "/journal", On: journalOn, Name: "link /data/journal to " + journalOn})
	}
	seal := act.Act{Dev: dataOn, UUID: uuids[string(identity.Data)], Seal: &act.Seal{Cluster: d.want.Identity.Cluster, Node: d.want.Identity.Node, UUIDs: uuids}}
	switch {
	case sealed:
	case d.want.Recording:
		seal.Kind, seal.Disks, seal.Name = act.SealFS, places[0].disks, "write "+dataOn+"/"+act.SealFile
		d.add(seal)
	case mounting:
		seal.Kind, seal.Name = act.CheckSeal, "read "+dataOn+"/"+act.SealFile
		d.add(seal)
	}
}

// mounted says that the place's own device is mounted there. A mount has the name that it was made with, so devices are told by the kernel's.
func (d *decision) mounted(p place) bool {
	m, found := d.mountAt(p.on)
	return found && p.kernel != "" && m.Kernel == p.kernel
}

func (d *decision) mountAt(target string) (m facts.Mount, found bool) {
	for _, m := range d.have.Mounts {
		if m.Target == target {
			return m, true
		}
	}
	return m, false
}
