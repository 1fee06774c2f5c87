package plan

import (
	"fmt"
	"strings"

	"grove/firstboot/facts"
	"grove/firstboot/plan/disks"
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
		if !disks.Blank(disk) && !ours(disk) {
			d.refuse(what, disk.Name+" is "+disks.Words(disk.Class), disk.Evidence, disks.Command(disk))
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
			d.refuse(what, fmt.Sprintf("its disks differ in size: %s has %s, %s has %s", first.Name, first.Size, disk.Name, disk.Size), disks.Visible(d.have.Disks), "")
			return nil, false
		}
	}
	if small := d.tooSmall(first.Size); small != "" {
		d.refuse(what, small, disks.Visible(d.have.Disks), "")
		return nil, false
	}
	if !d.want.Recording {
		d.refuse(what, "there is no journal on the state partition, and nothing is made without one", nil, "")
		return nil, false
	}
	return d.picks.Disks, true
}

// leastXFS is what mkfs.xfs takes since xfsprogs 5.19; a little more, as LVM and md keep some for themselves.
const leastXFS = 310 * size.MiB

// tooSmall says which file system would not fit its share of disks of this size. It is said before anything is made: all of it or nothing.
func (d *decision) tooSmall(each size.Size) string {
	if d.want.Storage.Filesystem != "xfs" {
		return ""
	}
	n := size.Size(len(d.picks.Disks))
	whole := map[spec.Level]size.Size{"10": n / 2, "0": n}[d.want.Storage.Raid.Level]
	whole = each * max(whole, 1)
	for _, p := range d.volumes() {
		if has := whole * size.Size(p.share) / 100; has < leastXFS {
			return fmt.Sprintf("%d%% of %s for %s is %s, and xfs wants %s at least: take ext4, larger disks or another share", p.share, whole.Short(), p.on, has.Short(), leastXFS.Short())
		}
	}
	if whole < leastXFS {
		return fmt.Sprintf("%s is too small for xfs, which wants %s at least: take ext4", whole.Short(), leastXFS.Short())
	}
	return ""
}

// lack waits for disks that may still come, and refuses when their time is over.
func (d *decision) lack(what string) {
	var words []string
	may, want := 0, len(d.picks.Disks)
	for _, s := range d.picks.Missing {
		words = append(words, s.String())
		may, want = max(may, disks.Patience(s)), want+max(1, s.Count)
	}
	sentence := fmt.Sprintf("have %d disks, want %d: nothing is %s", len(d.picks.Disks), want, strings.Join(words, ", nor "))
	if d.want.Waited < may {
		d.plan.Waits = append(d.plan.Waits, Wait{Sentence: sentence + "; there is " + facts.Visible(d.have.Disks), Left: may - d.want.Waited})
		return
	}
	d.refuse(what, fmt.Sprintf("%s within %d s", sentence, may), disks.Visible(d.have.Disks), "")
}

func (d *decision) refuse(what, why string, evidence []string, command string) {
	d.plan.Refuse(what, why, evidence, command)
}

// chunkWords is the chunk as mdadm counts it, "" where there is none.
func chunkWords(chunk size.Size) string {
	if chunk == 0 {
		return ""
	}
	return ", chunk " + chunk.String()
}
