package plan

import (
	"fmt"
	"strings"

	"grove/firstboot/facts"
	"grove/firstboot/plan/disks"
	"grove/internal/size"
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
	if !d.want.Recording {
		d.refuse(what, "the state partition is not mounted, and nothing is made without the journal on it", nil, "")
		return nil, false
	}
	return d.picks.Disks, true
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
