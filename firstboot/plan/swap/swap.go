// Package swap decides about a node's swap, as package plan does about its storage: on the state partition, a USB stick, in compressed RAM, on a partition that a
// person has set aside. What is refused keeps nothing else from being done: a node runs without swap, too.
package swap

import (
	"fmt"
	"slices"
	"strings"

	"grove/firstboot/facts"
	"grove/firstboot/journal"
	"grove/firstboot/plan"
	"grove/firstboot/plan/act"
	"grove/firstboot/plan/disks"
	"grove/firstboot/plan/identity"
	"grove/internal/spec"
)

// File is the place of swap on the state partition, and zram the device of swap in RAM.
const (
	File = "/state/grove/swap"
	zram = "/dev/zram0"
)

// Priorities of swap: RAM is faster than any disk.
const (
	ramFirst = 100
	diskNext = 10
)

// decision is a plan in the making.
type decision struct {
	want    plan.Want
	have    facts.Have
	picks   plan.Picks
	records []journal.Record // of swap
	plan    plan.Plan
}

// Decide gives the plan. Disks that storage picks are not swap's.
func Decide(w plan.Want, have facts.Have, picks plan.Picks, records []journal.Record) plan.Plan {
	d := &decision{want: w, have: have, picks: picks}
	for _, r := range records {
		if slices.Contains([]act.Kind{act.MakeTable, act.MakeSwap}, act.Kind(r.Kind)) {
			d.records = append(d.records, r)
		}
	}
	for _, s := range w.Swap {
		switch s.On {
		case "state":
			d.swapfile(s)
		case "zram":
			d.zram(s)
		case "usb":
			d.stick()
		case "partition":
			d.partition(s)
		}
	}
	return d.plan
}

func (d *decision) add(a act.Act) { d.plan.Acts = append(d.plan.Acts, a) }

// recording refuses to make anything on a disk without a journal.
func (d *decision) recording(what string) bool {
	if !d.want.Recording {
		d.plan.Refuse(what, "there is no journal on the state partition, and nothing is made without one", nil, "")
	}
	return d.want.Recording
}

// pending says that swap of this UUID is the last thing begun, and did not come to its end.
func (d *decision) pending(uuid string) bool {
	n := len(d.records)
	return n > 0 && !d.records[n-1].Done && d.records[n-1].Kind == string(act.MakeSwap) && d.records[n-1].UUID == uuid
}

func (d *decision) swapsOn(dev string) bool {
	if slices.Contains(d.have.Swaps, dev) {
		d.plan.Ready = append(d.plan.Ready, "swap on "+dev)
		return true
	}
	return false
}

func (d *decision) swapOn(dev, uuid string, priority int) {
	d.add(act.Act{Kind: act.SwapOn, Dev: dev, UUID: uuid, Priority: priority, Name: "swap on " + dev})
}

// swapfile is made under another name and renamed, so that there is no half of one. One of another size is made anew.
func (d *decision) swapfile(s spec.Swap) {
	if d.swapsOn(File) {
		return
	}
	if !d.want.Recording {
		d.plan.Refuse("swap on state", "the state partition is not mounted", nil, "")
		return
	}
	uuid := d.want.Identity.UUID(identity.Swap(s.On))
	if d.want.Swapfile != s.Size {
		d.add(act.Act{Kind: act.MakeSwapfile, Dev: File, UUID: uuid, Label: d.want.Identity.Label(), Size: s.Size, Name: fmt.Sprintf("make swap file %s, %s", File, s.Size)})
	}
	d.swapOn(File, "", diskNext)
}

func (d *decision) zram(s spec.Swap) {
	if d.swapsOn(zram) {
		return
	}
	uuid := d.want.Identity.UUID(identity.Swap(s.On))
	d.add(act.Act{Kind: act.MakeZram, Dev: zram, UUID: uuid, Label: d.want.Identity.Label(), Size: s.Size, Name: fmt.Sprintf("make swap in compressed RAM, %s", s.Size)})
	d.swapOn(zram, uuid, ramFirst)
}

// StickID is the disk identifier in the partition table of a stick of ours, 8 hexadecimal digits.
func StickID(i identity.Identity) string { return i.UUID(identity.Swap("usb"))[:8] }

// stick finds ours, or the one that is blank.
func (d *decision) stick() {
	var sticks []facts.Disk
	for _, disk := range d.have.Disks {
		picked := slices.ContainsFunc(d.picks.Disks, func(p facts.Disk) bool { return p.Name == disk.Name })
		if disk.Bus != "usb" || picked || disk.Class == facts.System {
			continue
		}
		if disk.Content.Table == "dos" && disk.Content.TableID == StickID(d.want.Identity) && len(disk.Parts) == 1 {
			d.ourStick(disk)
			return
		}
		sticks = append(sticks, disk)
	}
	switch {
	case len(sticks) == 0 && d.want.Waited < disks.Patience(spec.Selector{Bus: "usb"}):
		d.plan.Waits = append(d.plan.Waits, plan.Wait{Sentence: "a USB stick for swap; there is " + facts.Visible(d.have.Disks), Left: disks.Patience(spec.Selector{Bus: "usb"}) - d.want.Waited})
	case len(sticks) == 0:
		d.plan.Refuse("swap on usb", "there is no USB stick", disks.Visible(d.have.Disks), "")
	case len(sticks) > 1:
		d.plan.Refuse("swap on usb", "have "+disks.Names(sticks)+", want one USB stick", disks.Visible(d.have.Disks), "")
	case !disks.Blank(sticks[0]):
		d.plan.Refuse("swap on usb", sticks[0].Name+" is "+disks.Words(sticks[0].Class), sticks[0].Evidence, disks.Command(sticks[0]))
	case d.recording("swap on usb"):
		d.newStick(sticks[0])
	}
}

func (d *decision) newStick(disk facts.Disk) {
	on := disks.Of([]facts.Disk{disk})
	d.add(act.Act{Kind: act.MakeTable, Dev: disk.Dev, Disks: on, UUID: StickID(d.want.Identity), Size: disk.Size, Name: "make a partition table on " + disk.Name + " with one partition for swap"})
	d.makeSwap(partitionOf(disk.Dev, 1), on, identity.Swap("usb"), false)
}

// partitionOf is the kernel's name of a partition: a p stands between where the disk's name ends in a digit.
func partitionOf(dev string, number int) string {
	if last := dev[len(dev)-1]; last >= '0' && last <= '9' {
		dev += "p"
	}
	return fmt.Sprint(dev, number)
}

func (d *decision) makeSwap(dev string, on []act.Disk, role identity.Role, redo bool) {
	uuid := d.want.Identity.UUID(role)
	d.add(act.Act{Kind: act.MakeSwap, Dev: dev, Disks: on, UUID: uuid, Redo: redo, Label: d.want.Identity.Label(), Name: "make swap on " + strings.TrimPrefix(dev, "/dev/")})
	d.swapOn(dev, uuid, diskNext)
}

// ourStick has our table; swap is on it, or was about to be made.
func (d *decision) ourStick(disk facts.Disk) {
	p, uuid := disk.Parts[0], d.want.Identity.UUID(identity.Swap("usb"))
	if d.swapsOn(p.Dev) {
		return
	}
	switch {
	case p.Content.Type == "swap" && p.Content.UUID == uuid:
		d.swapOn(p.Dev, uuid, diskNext)
	case p.Content.Blank(), d.pending(uuid) && disks.NothingKnown(p.Content):
		if d.recording("swap on usb") {
			d.makeSwap(p.Dev, disks.Of([]facts.Disk{disk}), identity.Swap("usb"), !p.Content.Blank())
		}
	default:
		d.plan.Refuse("swap on usb", p.Name+" is not blank", p.Content.Evidence(), "")
	}
}

// partition is one that a person has set aside: swap already, or blank.
func (d *decision) partition(s spec.Swap) {
	what := "swap on partition " + s.Partition
	disk, p, found := d.part(s.Partition)
	switch c := p.Content; {
	case !found && d.want.Waited < partitionMay:
		d.plan.Waits = append(d.plan.Waits, plan.Wait{Sentence: what + "; there is " + facts.Visible(d.have.Disks), Left: partitionMay - d.want.Waited})
	case !found:
		d.plan.Refuse(what, "no disk has it", disks.Visible(d.have.Disks), "")
	case d.swapsOn(p.Dev):
	case c.Type == "swap":
		d.swapOn(p.Dev, c.UUID, diskNext)
	case c.Known() || c.Data != "" || c.Fault != "":
		d.plan.Refuse(what, p.Name+" is not blank", c.Evidence(), "")
	case d.recording(what): // on a disk in use blankness is not proven yet; it is right before swap is made
		d.makeSwap(p.Dev, disks.Of([]facts.Disk{disk}), identity.Swap(s.On), false)
	}
}

// partitionMay is how many seconds a disk with a partition for swap may take to appear.
const partitionMay = 60

func (d *decision) part(uuid string) (facts.Disk, facts.Part, bool) {
	for _, disk := range d.have.Disks {
		for _, p := range disk.Parts {
			if strings.EqualFold(p.UUID, uuid) {
				return disk, p, true
			}
		}
	}
	return facts.Disk{}, facts.Part{}, false
}
