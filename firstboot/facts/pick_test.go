package facts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/size"
	"grove/internal/spec"
)

func TestPick(t *testing.T) {
	disks := []Disk{
		{Name: "nvme0n1", Names: []string{"nvme0n1", "xvda", "sda"}, Bus: "nvme", Size: 8 * size.GiB, Serial: "vol0a", EBS: "vol-0a", Class: System, Evidence: []string{"nvme0n1p3 is /usr"}},
		{Name: "nvme1n1", Names: []string{"nvme1n1", "sdb", "xvdb"}, Bus: "nvme", Size: 100 * size.GiB, Serial: "vol0b", EBS: "vol-0b", Class: Blank},
		{Name: "nvme2n1", Names: []string{"nvme2n1", "sdc", "xvdc"}, Bus: "nvme", Size: 100 * size.GiB, Serial: "vol0c", EBS: "vol-0c", Class: Foreign},
		{Name: "sda", Names: []string{"sda"}, Bus: "sata", Size: 120 * size.GiB, Serial: "S1", Model: "Samsung SSD 860 EVO 500GB", Class: Blank},
		{Name: "sdb", Names: []string{"sdb"}, Bus: "usb", Size: 4 * size.GiB, Serial: "U1", Class: Blank},
		{Name: "sdc", Names: []string{"sdc"}, Bus: "usb", Size: 8 * size.GiB, Class: Blank},
	}
	name := func(names ...string) (all []spec.Selector) {
		for _, n := range names {
			all = append(all, spec.Selector{Name: n})
		}
		return all
	}
	for _, c := range []struct {
		name      string
		selectors []spec.Selector
		picked    string
		missing   []spec.Selector
		unclear   string // part of the one sentence
	}{
		{"nothing", nil, "", nil, ""},
		{"names in the recipe's order, whatever the class", name("xvdc", "xvdb"), "nvme2n1 nvme1n1", nil, ""},
		{"a name with its folder", name("/dev/xvdb"), "nvme1n1", nil, ""},
		{"serial number", []spec.Selector{{Serial: "S1"}}, "sda", nil, ""},
		{"model, whole", []spec.Selector{{Model: "Samsung SSD 860 EVO 500GB"}, {Model: "Samsung"}}, "sda", []spec.Selector{{Model: "Samsung", Count: 1}}, ""},
		{"volume id", []spec.Selector{{EBS: "vol-0b"}}, "nvme1n1", nil, ""},
		{"bus and size together", []spec.Selector{{Bus: "usb", Size: 8 * size.GiB}}, "sdc", nil, ""},
		{"size is exact", []spec.Selector{{Size: 119 * size.GiB}}, "", []spec.Selector{{Size: 119 * size.GiB, Count: 1}}, ""},
		{"the medium is not among what a bus finds", []spec.Selector{{Bus: "nvme", Count: 2}}, "nvme1n1 nvme2n1", nil, ""},
		{"fewer than asked for", []spec.Selector{{Bus: "nvme", Count: 4}}, "nvme1n1 nvme2n1", []spec.Selector{{Bus: "nvme", Count: 2}}, ""},
		{"more than asked for", []spec.Selector{{Bus: "usb"}}, "", nil, "bus usb finds 2 disks, want 1: sdb (4 GiB, usb, serial U1, blank), sdc (8 GiB, usb, blank)"},
		{"one name for two disks", name("sdb"), "", nil, "sdb finds 2 disks, want 1: nvme1n1 = sdb = xvdb (100 GiB"},
		{"the exact one first, wherever it stands", []spec.Selector{{Bus: "usb"}, {Serial: "U1"}}, "sdc sdb", nil, ""},
		{"a disk only once", []spec.Selector{{Serial: "S1"}, {Bus: "sata"}}, "sda", []spec.Selector{{Bus: "sata", Count: 1}}, ""},
		{"the medium by name", name("xvda"), "", nil, "xvda is nvme0n1, the disk that the node runs from, which cannot be picked: nvme0n1p3 is /usr"},
		{"the medium by serial number", []spec.Selector{{Serial: "vol0a"}}, "", nil, "cannot be picked"},
		{"no such name", name("xvdz"), "", []spec.Selector{{Name: "xvdz", Count: 1}}, ""},
		{"an unclear one takes nothing from the others", append(name("sdb"), spec.Selector{Serial: "U1"}), "sdb", nil, "sdb finds 2 disks"},
	} {
		picked, missing, unclear := Pick(disks, c.selectors)
		var got []string
		for _, d := range picked {
			got = append(got, d.Name)
		}
		if diff := cmp.Diff(c.picked, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: picked\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.missing, missing); diff != "" {
			t.Errorf("%s: missing\n%s", c.name, diff)
		}
		if len(unclear) > 1 || (c.unclear == "") != (len(unclear) == 0) || !strings.Contains(strings.Join(unclear, ""), c.unclear) {
			t.Errorf("%s: got %q; want %q", c.name, unclear, c.unclear)
		}
	}
}

func TestVisible(t *testing.T) {
	if got := Visible(nil); got != "no disk at all" {
		t.Errorf("got %s", got)
	}
}
