// Package disks has what the plans of storage and of swap both ask about disks: may one be written to, what is in the way, how long to wait for it.
package disks

import (
	"fmt"
	"slices"
	"strings"

	"grove/firstboot/facts"
	"grove/firstboot/journal"
	"grove/firstboot/plan/act"
	"grove/internal/spec"
)

// Blank is what may be made into something: proven, and used by nobody. A disk that an act of ours had begun on, and not written to yet, is as blank as before.
func Blank(disk facts.Disk) bool {
	return (disk.Class == facts.Blank || disk.Class == facts.OursPartial) && disk.Content.Blank() && len(disk.Parts) == 0 && len(disk.Holders) == 0 && !disk.Held && !disk.ReadOnly
}

// NothingKnown is a content without any signature. Data may be on it.
func NothingKnown(c facts.Content) bool {
	return !c.Known() && c.Fault == ""
}

// BegunOn says that a record was begun on this very disk, by its serial number. A disk without one cannot be told from another.
func BegunOn(on []journal.Disk, disk facts.Disk) bool {
	return disk.Serial != "" && slices.ContainsFunc(on, func(o journal.Disk) bool { return o.Serial == disk.Serial && o.Size == int64(disk.Size) })
}

// Untouchable are classes that no evidence of ours can overrule.
func Untouchable(disk facts.Disk) bool {
	return slices.Contains([]facts.Class{facts.System, facts.Busy, facts.OtherNode}, disk.Class)
}

// Words says what keeps a disk of this class from being taken.
func Words(c facts.Class) string {
	return map[facts.Class]string{facts.System: "the disk that the node runs from", facts.Busy: "in use", facts.OursComplete: "in use by this node already",
		facts.OursPartial: "half-finished, and the journal does not say that it is by us", facts.OtherNode: "another node's", facts.Foreign: "not blank",
		facts.Blank: "not free"}[c]
}

// Command is what a person types who knows that a disk's content may go. It writes zeros over all of it, as blankness is proven by zeros. There is none for what
// is in use: that has to be let go of first.
func Command(disk facts.Disk) string {
	if disk.Class == facts.Foreign || disk.Class == facts.OursPartial {
		return "blkdiscard -f -z " + disk.Dev
	}
	return ""
}

// Patience is how long such a disk may take to appear, in seconds: one that is plugged into the machine spins up, a volume of a cloud is attached late (cloud-init,
// issue 3386).
func Patience(s spec.Selector) int {
	switch {
	case slices.Contains([]string{"sata", "usb", "mmc", "virtio"}, s.Bus), s.EBS == "" && (strings.HasPrefix(s.Name, "sd") || strings.HasPrefix(s.Name, "vd")):
		return 60
	}
	return 600
}

// Visible lists the disks that there are, each with its class.
func Visible(all []facts.Disk) (list []string) {
	for _, disk := range all {
		list = append(list, fmt.Sprintf("%s (%s, %s)", disk.Name, disk.Size.Short(), disk.Class))
	}
	if list == nil {
		return []string{"no disk at all"}
	}
	return list
}

// Of are disks as an act names them.
func Of(list []facts.Disk) (disks []act.Disk) {
	for _, disk := range list {
		disks = append(disks, act.Disk{Dev: disk.Dev, Serial: disk.Serial, Size: disk.Size})
	}
	return disks
}

// Names are the kernel's, for a sentence.
func Names(list []facts.Disk) string {
	var all []string
	for _, disk := range list {
		all = append(all, disk.Name)
	}
	return strings.Join(all, ", ")
}

// Devs are their devices.
func Devs(list []facts.Disk) (all []string) {
	for _, disk := range list {
		all = append(all, disk.Dev)
	}
	return all
}
