package facts

import (
	"context"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"grove/firstboot/facts/proc"
	"grove/firstboot/facts/superblock"
	"grove/firstboot/facts/sysfs"
	"grove/internal/host"
	"grove/internal/size"
)

// Look finds all that there is. root stands before /sys, /dev and /proc, empty on a node. What of it can't be read is a Fault where it lies, as one broken disk must
// not hide the others; an error is what leaves nothing to say.
func Look(ctx context.Context, machine host.Machine, root string) (Have, error) {
	l := look{machine: machine, root: root, groups: map[string]superblock.Group{}, volumes: map[string][]string{}}
	var have Have
	var err error
	if have.Disks, have.Remarks, err = Disks(machine, root); err != nil {
		return Have{}, err
	}
	mounts, err := proc.Mounts(root, sysfs.Numbers(root))
	if err != nil {
		return Have{}, err
	}
	for _, m := range mounts {
		have.Mounts = append(have.Mounts, Mount(m))
	}
	if have.Swaps, err = proc.Swaps(root); err != nil {
		return Have{}, err
	}
	have.Arrays = arrays(root)
	l.holders(have.Disks)
	l.contents(ctx, &have)
	have.Groups, have.Volumes = l.lvm(sysfs.Mappeds(root))
	l.volumeContents(ctx, have.Volumes)
	return have, ctx.Err()
}

type look struct {
	machine host.Machine
	root    string
	groups  map[string]superblock.Group // by UUID
	volumes map[string][]string         // devices of the physical volumes that are there, by the group's UUID
}

// holders asks the kernel who has a disk for themselves. One that can't be opened is told of when it is read.
func (l *look) holders(disks []Disk) {
	for n := range disks {
		held, err := l.machine.Held(disks[n].Dev)
		disks[n].Held = held || len(disks[n].Holders) > 0
		if err != nil {
			disks[n].Content.Fault = err.Error()
		}
	}
}

func arrays(root string) (all []Array) {
	for _, f := range sysfs.Arrays(root) {
		a := Array{Name: f.Name, Dev: root + "/dev/" + f.Name, State: f.State, UUID: f.UUID, Level: f.Level, Disks: f.Disks, Working: f.Working, Degraded: f.Working < f.Disks,
			Sync: f.Sync, Done: f.Done, Size: f.Size}
		for _, m := range f.Members {
			if strings.Contains(m.State, "faulty") {
				a.Faulty = append(a.Faulty, m.Name)
			} else {
				a.Members = append(a.Members, m.Name)
			}
		}
		all = append(all, a)
	}
	return all
}

// target is a device to read, and where to put what is on it.
type target struct {
	dev     string
	size    size.Size
	quick   bool // no programs and no samples
	content *Content
	table   *superblock.Table
	group   *superblock.Group
}

// contents reads all devices that are there without LVM: disks, their partitions, arrays.
func (l *look) contents(ctx context.Context, have *Have) {
	var targets []*target
	whole := map[*target]*Disk{}
	for n := range have.Disks {
		d := &have.Disks[n]
		t := &target{dev: d.Dev, size: d.Size, quick: d.Held, content: &d.Content}
		whole[t] = d // of one that is held it does not matter what is on it, as it is not free: the medium, members of an array that runs
		targets = append(targets, t)
		for p := range d.Parts {
			targets = append(targets, &target{dev: d.Parts[p].Dev, size: d.Parts[p].Size, quick: d.Held, content: &d.Parts[p].Content})
		}
	}
	for n := range have.Arrays {
		if a := &have.Arrays[n]; a.Size > 0 {
			targets = append(targets, &target{dev: a.Dev, size: a.Size, content: &a.Content})
		}
	}
	l.read(ctx, targets)
	for _, t := range targets {
		l.remember(*t)
		if d := whole[t]; d != nil && t.table != nil {
			nameParts(d, *t.table)
		}
	}
}

// read goes through devices beside each other: most of the time is spent waiting for disks and for programs.
func (l *look) read(ctx context.Context, targets []*target) {
	var g errgroup.Group
	g.SetLimit(2 * runtime.NumCPU())
	for _, t := range targets {
		if t.content.Fault != "" {
			continue
		}
		g.Go(func() error { *t.content, t.table, t.group = l.content(ctx, *t); return nil })
	}
	_ = g.Wait() // nobody gives an error: it is the device's Fault
}

// remember keeps the newest that is known of a volume group.
func (l *look) remember(t target) {
	if t.group == nil {
		return
	}
	if known, is := l.groups[t.group.UUID]; !is || known.Sequence < t.group.Sequence {
		l.groups[t.group.UUID] = *t.group
	}
	l.volumes[t.group.UUID] = append(l.volumes[t.group.UUID], t.dev)
}

// nameParts adds what the table tells of the partitions that the kernel shows.
func nameParts(d *Disk, t superblock.Table) {
	for n := range d.Parts {
		p := &d.Parts[n]
		at := slices.IndexFunc(t.Parts, func(e superblock.Part) bool { return e.Number == p.Number })
		if at >= 0 {
			p.Type, p.UUID = t.Parts[at].Type, t.Parts[at].UUID
		}
	}
}
