package facts

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"grove/firstboot/facts/superblock"
	"grove/firstboot/facts/sysfs"
)

// lvm puts together what the physical volumes tell of their groups with what the kernel holds of them.
func (l *look) lvm(active []sysfs.Mapped) (groups []Group, volumes []Volume) {
	for id, g := range l.groups {
		found := Group{Name: g.Name, UUID: id, Tags: g.Tags, Size: g.Size, Free: g.Free, Devices: l.volumes[id]}
		found.Missing = max(len(g.PVs)-len(found.Devices), 0)
		slices.Sort(found.Devices)
		groups = append(groups, found)
		for _, v := range g.Volumes {
			volumes = append(volumes, l.volume(g, v, active))
		}
	}
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.UUID, b.UUID)) })
	slices.SortFunc(volumes, func(a, b Volume) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.GroupID, b.GroupID), strings.Compare(a.Name, b.Name))
	})
	return groups, volumes
}

func (l *look) volume(g superblock.Group, v superblock.Volume, active []sysfs.Mapped) Volume {
	found := Volume{Name: v.Name, Group: g.Name, GroupID: g.UUID, Dev: l.root + "/dev/" + g.Name + "/" + v.Name, Size: v.Size}
	id := "LVM-" + strings.ReplaceAll(g.UUID+v.UUID, "-", "")
	for _, m := range active {
		if m.UUID == id {
			found.Kernel, found.Active = m.Name, true
		}
	}
	return found
}

// volumeContents reads the active ones by the kernel's own node: the link of another name may be a step behind.
func (l *look) volumeContents(ctx context.Context, volumes []Volume) {
	var targets []*target
	for n := range volumes {
		if v := &volumes[n]; v.Active {
			targets = append(targets, &target{dev: l.root + "/dev/" + v.Kernel, size: v.Size, content: &v.Content})
		}
	}
	l.read(ctx, targets)
}
