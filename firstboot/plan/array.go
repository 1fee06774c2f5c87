package plan

import (
	"fmt"
	"slices"
	"strings"

	"grove/firstboot/facts"
	"grove/firstboot/plan/act"
	"grove/firstboot/plan/disks"
	"grove/firstboot/plan/identity"
)

// array finds, assembles or makes the array.
func (d *decision) array() (device, bool) {
	members := d.members()
	base := device{name: d.arrayName(), dev: act.Array, disks: disks.Of(members)}
	for _, a := range d.have.Arrays {
		if d.ours(a, members) {
			if a.State == "inactive" {
				d.refuse(base.name, fmt.Sprintf("%s has %s and does not run", a.Dev, strings.Join(a.Members, ", ")), nil, "mdadm --stop "+a.Dev)
				return base, false
			}
			base.dev, base.kernel, base.content = a.Dev, a.Name, a.Content
			d.rebuild(a, members)
			return base, true
		}
	}
	live, one, two := current(members)
	switch slots := slotsOf(members); {
	case len(members) == 0, (len(live) < slots || two != "") && d.cutOff(members):
		return d.createArray(base)
	case two != "":
		d.refuse(base.name, fmt.Sprintf("%s and %s are the same member of it: take the copy away", one, two), nil, "")
		return base, false
	case len(live) < slots:
		return d.degraded(base, live, slots)
	}
	return d.assemble(base, live, d.want.Storage.Raid.Level != "0" && d.completed(act.CreateArray, d.want.Identity.UUID(identity.Array))), true
}

// ours goes by the array's UUID, and by its members with a kernel that does not tell it.
func (d *decision) ours(a facts.Array, members []facts.Disk) bool {
	return a.UUID == d.want.Identity.UUID(identity.Array) || a.UUID == "" && slices.ContainsFunc(members, func(m facts.Disk) bool { return slices.Contains(a.Members, m.Name) })
}

func (d *decision) arrayName() string {
	return fmt.Sprintf("RAID %s %s", d.want.Storage.Raid.Level, d.want.Identity)
}

// members are the disks with our superblock, by their slots, whatever they are called.
func (d *decision) members() (members []facts.Disk) {
	for _, disk := range d.have.Disks {
		if m := disk.Content.Member; m != nil && m.Array == d.want.Identity.UUID(identity.Array) && disk.Class != facts.System {
			members = append(members, disk)
		}
	}
	slices.SortStableFunc(members, func(a, b facts.Disk) int { return a.Content.Member.Role - b.Content.Member.Role })
	return members
}

// current leaves out members that fell behind another of the same slot: a lost disk that came back after its place was taken. Of two that are equal it gives the
// names: one is a copy of the other, or both are left from cut-off makings between which the disks changed their names.
func current(members []facts.Disk) (live []facts.Disk, one, two string) {
	for _, m := range members {
		at := slices.IndexFunc(live, func(l facts.Disk) bool { return l.Content.Member.Role == m.Content.Member.Role })
		switch {
		case at < 0 || m.Content.Member.Role < 0:
			live = append(live, m)
		case live[at].Content.Member.Events == m.Content.Member.Events:
			one, two = live[at].Name, m.Name
		case live[at].Content.Member.Events < m.Content.Member.Events:
			live[at] = m
		}
	}
	return live, one, two
}

func slotsOf(members []facts.Disk) int {
	if len(members) == 0 {
		return 0
	}
	return members[0].Content.Member.Disks
}

// cutOff says that the making of the array ended before all members were written: the journal says that it was begun and nothing was made since, and no
// superblock was ever updated, so that the array never ran.
func (d *decision) cutOff(members []facts.Disk) bool {
	_, pending := d.pending(act.CreateArray, d.want.Identity.UUID(identity.Array), "")
	return pending && !slices.ContainsFunc(members, func(m facts.Disk) bool { return m.Content.Member.Events > 0 })
}

// createArray makes it of all disks that are asked for. Members of its first, cut-off making are made anew; mdadm has no way to make the rest only.
func (d *decision) createArray(base device) (device, bool) {
	id, raid := d.want.Identity, d.want.Storage.Raid
	redo := len(base.disks) > 0
	chosen, ok := d.chosen(base.name, func(disk facts.Disk) bool {
		m := disk.Content.Member
		return m != nil && m.Array == id.UUID(identity.Array) && redo && !disks.Untouchable(disk)
	})
	if !ok {
		return base, false
	}
	if len(chosen) < len(base.disks) {
		d.refuse(base.name, "half-finished work of ours is on disks that the recipe does not pick", disks.Visible(d.have.Disks), "")
		return base, false
	}
	base.disks, base.sight = disks.Of(chosen), fresh
	d.add(act.Act{Kind: act.CreateArray, Dev: act.Array, From: disks.Devs(chosen), Disks: base.disks, UUID: id.UUID(identity.Array), Redo: redo, Label: id.Array(), Level: string(raid.Level), Chunk: raid.Chunk,
		Name: fmt.Sprintf("create %s of %s%s", base.name, disks.Names(chosen), chunkWords(raid.Chunk))})
	return base, true
}

// assemble puts the members together. With run that is done even if one of them fell behind, as it did when it was lost and came back.
func (d *decision) assemble(base device, members []facts.Disk, run bool) device {
	base.sight = hidden
	suffix := ""
	if len(members) < slotsOf(members) {
		suffix = fmt.Sprintf(", %d of %d", len(members), slotsOf(members))
	}
	d.add(act.Act{Kind: act.Assemble, Dev: act.Array, From: disks.Devs(members), UUID: d.want.Identity.UUID(identity.Array), Run: run,
		Level: strings.TrimPrefix(members[0].Content.Member.Level, "raid"), Name: "assemble " + base.name + " of " + disks.Names(members) + suffix})
	return base
}

// degradedAfter is how many seconds a missing member of a whole array may take: what is there serves without it.
const degradedAfter = 30

// degraded serves what is left of an array that was whole once, if each of its blocks is left on one disk at least.
func (d *decision) degraded(base device, members []facts.Disk, slots int) (device, bool) {
	have := fmt.Sprintf("have %d of its %d disks: %s", len(members), slots, disks.Names(members))
	if gone := lost(members, slots); gone != "" || !d.completed(act.CreateArray, d.want.Identity.UUID(identity.Array)) {
		may := 0
		for _, s := range d.want.Storage.Disks {
			may = max(may, disks.Patience(s))
		}
		if d.want.Waited < may {
			d.plan.Waits = append(d.plan.Waits, Wait{Sentence: base.name + ": " + have, Left: may - d.want.Waited})
			return base, false
		}
		if gone == "" {
			gone = "and no journal says that it was whole once"
		}
		d.refuse(base.name, have+" "+gone, disks.Visible(d.have.Disks), "mdadm --assemble --run "+act.Array+" "+strings.Join(disks.Devs(members), " "))
		return base, false
	}
	if left := degradedAfter - d.want.Waited; left > 0 {
		d.plan.Waits = append(d.plan.Waits, Wait{Sentence: base.name + ": " + have + "; then it serves without the rest", Left: left})
		return base, false
	}
	return d.assemble(base, members, true), true
}

// lost says what of an array cannot be had without the missing slots, "" if all can. RAID 10 is ours, with near=2: slots 0 and 1 hold the same, 2 and 3, and so on.
func lost(members []facts.Disk, slots int) string {
	has := func(slot int) bool {
		return slices.ContainsFunc(members, func(m facts.Disk) bool { return m.Content.Member.Role == slot })
	}
	switch members[0].Content.Member.Level {
	case "raid1":
		return ""
	case "raid10":
		for slot := 0; slot+1 < slots; slot += 2 {
			if !has(slot) && !has(slot+1) {
				return fmt.Sprintf("and both copies, slots %d and %d, are missing", slot, slot+1)
			}
		}
		return ""
	}
	return "and RAID 0 has no copy of the rest"
}

// rebuild takes disks into the empty slots of an array that runs: its own former members, and blank ones if the recipe or a person says so.
func (d *decision) rebuild(a facts.Array, members []facts.Disk) {
	empty := a.Disks - len(a.Members)
	for _, m := range members {
		if empty > 0 && !slices.Contains(a.Members, m.Name) && !m.Held && !disks.Untouchable(m) && d.want.Recording {
			d.take(a, m)
			empty--
		}
	}
	for _, disk := range d.have.Disks {
		if empty < 1 || !disks.Blank(disk) {
			continue
		}
		picked := slices.ContainsFunc(d.picks.Disks, func(p facts.Disk) bool { return p.Name == disk.Name })
		switch told := slices.Contains(d.want.Add, disk.Dev); {
		case (told || picked) && len(members) > 0 && disk.Size < members[0].Size:
			d.plan.Notes = append(d.plan.Notes, fmt.Sprintf("%s has %s and is too small for %s, whose disks have %s", disk.Name, disk.Size, d.arrayName(), members[0].Size))
		case (told || picked && d.want.Storage.Rebuild) && d.want.Recording:
			d.take(a, disk)
			empty--
		case picked:
			d.plan.Notes = append(d.plan.Notes, fmt.Sprintf("%s is blank and could take a lost disk's place in %s: set storage.rebuild, or type /init storage rebuild %s", disk.Name, d.arrayName(), disk.Dev))
		}
	}
}

func (d *decision) take(a facts.Array, disk facts.Disk) {
	d.add(act.Act{Kind: act.AddMember, Dev: a.Dev, From: []string{disk.Dev}, Disks: disks.Of([]facts.Disk{disk}), UUID: d.want.Identity.UUID(identity.Array), Redo: disk.Content.Member != nil,
		Name: fmt.Sprintf("add %s to %s", disk.Name, d.arrayName())})
}
