package disks

import (
	"testing"

	"grove/firstboot/facts"
	"grove/firstboot/journal"
	"grove/internal/size"
	"grove/internal/spec"
)

func TestOnlyWhatIsProvenAndFreeIsBlank(t *testing.T) {
	zero := facts.Content{Sampled: true}
	for _, c := range []struct {
		name string
		disk facts.Disk
		want bool
	}{
		{"proven", facts.Disk{Class: facts.Blank, Content: zero}, true},
		{"begun on, and not written to", facts.Disk{Class: facts.OursPartial, Content: zero}, true},
		{"not looked at closely", facts.Disk{Class: facts.Blank}, false},
		{"with a byte that is not 0", facts.Disk{Class: facts.Blank, Content: facts.Content{Sampled: true, Data: "at 4MiB"}}, false},
		{"with a partition", facts.Disk{Class: facts.Blank, Content: zero, Parts: []facts.Part{{}}}, false},
		{"in use", facts.Disk{Class: facts.Blank, Content: zero, Held: true}, false},
		{"write-protected", facts.Disk{Class: facts.Blank, Content: zero, ReadOnly: true}, false},
		{"the medium", facts.Disk{Class: facts.System, Content: zero}, false},
		{"somebody's", facts.Disk{Class: facts.Foreign, Content: zero}, false},
	} {
		if got := Blank(c.disk); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

func TestADiskIsTheSameByItsSerialNumber(t *testing.T) {
	on := []journal.Disk{{Dev: "/dev/vdb", Serial: "S1", Size: int64(size.GiB)}, {Dev: "/dev/vdc", Size: int64(size.GiB)}}
	for _, c := range []struct {
		disk facts.Disk
		want bool
	}{
		{facts.Disk{Dev: "/dev/vdz", Serial: "S1", Size: size.GiB}, true}, {facts.Disk{Dev: "/dev/vdb", Serial: "S1", Size: size.MiB}, false},
		{facts.Disk{Dev: "/dev/vdb", Serial: "S2", Size: size.GiB}, false}, {facts.Disk{Dev: "/dev/vdc", Size: size.GiB}, false},
	} {
		if got := BegunOn(on, c.disk); got != c.want {
			t.Errorf("%+v: got %v", c.disk, got)
		}
	}
}

func TestNoCommandForWhatIsInUse(t *testing.T) {
	for class, want := range map[facts.Class]string{facts.Foreign: "blkdiscard -f -z /dev/vdb", facts.OursPartial: "blkdiscard -f -z /dev/vdb", facts.System: "", facts.Busy: "", facts.OtherNode: "",
		facts.OursComplete: ""} {
		if got := Command(facts.Disk{Dev: "/dev/vdb", Class: class}); got != want || Words(class) == "" {
			t.Errorf("%s: got %q, %q", class, got, Words(class))
		}
	}
}

func TestPatience(t *testing.T) {
	for _, c := range []struct {
		selector spec.Selector
		want     int
	}{
		{spec.Selector{Bus: "sata"}, 60}, {spec.Selector{Name: "sda"}, 60}, {spec.Selector{Name: "vdb"}, 60}, {spec.Selector{Name: "xvdb"}, 600}, {spec.Selector{Bus: "nvme"}, 600},
		{spec.Selector{EBS: "vol-0123456789abcdef0"}, 600}, {spec.Selector{Serial: "S1"}, 600},
	} {
		if got := Patience(c.selector); got != c.want {
			t.Errorf("%s: got %d", c.selector, got)
		}
	}
}
