package plan

import (
	"fmt"
	"slices"
	"strings"

	"grove/firstboot/facts"
	"grove/firstboot/journal"
	"grove/firstboot/plan/act"
	"grove/internal/size"
	"grove/internal/spec"
)

// chosen gives the disks to make something of: all that are asked for, of one size, each proven blank or, by ours, our own half-finished work. All of them or
// none; what keeps them from it is refused or waited for.
func (d *decision) chosen(what string, ours func(facts.Disk) bool) ([]facts.Disk, bool) {
	for _, sentence := range d.picks.Unclear {
		d.refuse(what, sentence, nil, "")
	}
	for _, disk := range d.picks.Disks {
		if !blank(disk) && !ours(disk) {
			d.refuse(what, disk.Name+" is "+classWords(disk.Class), disk.Evidence, command(disk))
		}
	}
	if len(d.plan.Refused) > 0 {
		return nil, false
	}
	if len(d.picks.Missing) > 0 {
		d.lack(what)
		return nil, false
	}
	first := d.picks.Disks[0]
	for _, disk := range d.picks.Disks {
		if disk.Size != first.Size {
			d.refuse(what, fmt.Sprintf("its disks differ in size: %s has %s, %s has %s", first.Name, first.Size, disk.Name, disk.Size), d.visible(), "")
			return nil, false
		}
	}
	if !d.want.Recording {
		d.refuse(what, "the state partition is not mounted, and nothing is made without the journal on it", nil, "")
		return nil, false
	}
	return d.picks.Disks, true
}

// blank is what may be made into something: proven, and used by nobody. A disk that an act of ours had begun on, and not written to yet, is as blank as before.
func blank(disk facts.Disk) bool {
	return (disk.Class == facts.Blank || disk.Class == facts.OursPartial) && disk.Content.Blank() && len(disk.Parts) == 0 && len(disk.Holders) == 0 && !disk.Held && !disk.ReadOnly
}

// nothingKnown is a content without any signature. Data may be on it.
func nothingKnown(c facts.Content) bool {
	return !c.Known() && c.Fault == ""
}

// begunOn says that a record was begun on this very disk, by its serial number. A disk without one cannot be told from another.
func begunOn(on []journal.Disk, disk facts.Disk) bool {
	return disk.Serial != "" && slices.ContainsFunc(on, func(o journal.Disk) bool { return o.Serial == disk.Serial && o.Size == int64(disk.Size) })
}

// untouchable are classes that no evidence of ours can overrule.
func untouchable(disk facts.Disk) bool {
	return slices.Contains([]facts.Class{facts.System, facts.Busy, facts.OtherNode}, disk.Class)
}

func classWords(c facts.Class) string {
	return map[facts.Class]string{facts.System: "the disk that the node runs from", facts.Busy: "in use", facts.OursComplete: "in use by this node already",
		facts.OursPartial: "half-finished, and the journal does not say that it is by us", facts.OtherNode: "another node's", facts.Foreign: "not blank",
		facts.Blank: "not free"}[c]
}

// command is what a person types who knows that a disk's content may go. It writes zeros over all of it, as blankness is proven by zeros. There is none for what
// is in use: that has to be let go of first.
func command(disk facts.Disk) string {
	if disk.Class == facts.Foreign || disk.Class == facts.OursPartial {
		return "blkdiscard -f -z " + disk.Dev
	}
	return ""
}

// lack waits for disks that may still come, and refuses when their time is over.
func (d *decision) lack(what string) {
	var words []string
	may, want := 0, len(d.picks.Disks)
	for _, s := range d.picks.Missing {
		words = append(words, s.String())
		may, want = max(may, patience(s)), want+max(1, s.Count)
	}
	sentence := fmt.Sprintf("have %d disks, want %d: nothing is %s", len(d.picks.Disks), want, strings.Join(words, ", nor "))
	if d.want.Waited < may {
		d.plan.Waits = append(d.plan.Waits, Wait{Sentence: sentence + "; there is " + facts.Visible(d.have.Disks), Left: may - d.want.Waited})
		return
	}
	d.refuse(what, fmt.Sprintf("%s within %d s", sentence, may), d.visible(), "")
}

// patience is how long such a disk may take to appear, in seconds: one that is plugged into the machine spins up, a volume of a cloud is attached late (cloud-init,
// issue 3386).
func patience(s spec.Selector) int {
	switch {
	case slices.Contains([]string{"sata", "usb", "mmc", "virtio"}, s.Bus), s.EBS == "" && (strings.HasPrefix(s.Name, "sd") || strings.HasPrefix(s.Name, "vd")):
		return 60
	}
	return 600
}

// visible lists the disks that there are.
func (d *decision) visible() (list []string) {
	for _, disk := range d.have.Disks {
		list = append(list, fmt.Sprintf("%s (%s, %s)", disk.Name, disk.Size.Short(), disk.Class))
	}
	if list == nil {
		return []string{"no disk at all"}
	}
	return list
}

func (d *decision) refuse(what, why string, evidence []string, command string) {
	d.plan.Refused = append(d.plan.Refused, Refusal{Sentence: what + ": " + why, Evidence: evidence, Command: command})
}

// disksOf are disks as an act names them.
func disksOf(list []facts.Disk) (disks []act.Disk) {
	for _, disk := range list {
		disks = append(disks, act.Disk{Dev: disk.Dev, Serial: disk.Serial, Size: disk.Size})
	}
	return disks
}

func names(list []facts.Disk) string {
	var all []string
	for _, disk := range list {
		all = append(all, disk.Name)
	}
	return strings.Join(all, ", ")
}

func devs(list []facts.Disk) (all []string) {
	for _, disk := range list {
		all = append(all, disk.Dev)
	}
	return all
}

// chunkWords is the chunk as mdadm counts it, "" where there is none.
func chunkWords(chunk size.Size) string {
	if chunk == 0 {
		return ""
	}
	return ", chunk " + chunk.String()
}
