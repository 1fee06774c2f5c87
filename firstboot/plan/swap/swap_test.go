package swap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/firstboot/facts"
	"grove/firstboot/journal"
	"grove/firstboot/plan"
	"grove/firstboot/plan/act"
	"grove/firstboot/plan/identity"
	"grove/internal/size"
	"grove/internal/spec"
)

var (
	db1   = identity.Identity{Cluster: "demo", Node: "db1"}
	uuid  = db1.UUID(identity.Swap("usb"))
	zero  = facts.Content{Sampled: true}
	data  = facts.Content{Sampled: true, Data: "at 0"}
	table = facts.Content{Table: "dos", TableID: StickID(db1)}
)

func stick(class facts.Class, c facts.Content, parts ...facts.Content) facts.Disk {
	d := facts.Disk{Name: "sda", Dev: "/dev/sda", Names: []string{"sda"}, Size: 8 * size.GiB, Bus: "usb", Class: class, Content: c, Evidence: []string{"seen"}}
	for n, p := range parts {
		d.Parts = append(d.Parts, facts.Part{Dev: fmt.Sprintf("/dev/sda%d", n+1), Name: fmt.Sprintf("sda%d", n+1), Number: n + 1, UUID: fmt.Sprintf("part-%d", n+1), Content: p})
	}
	return d
}

func text(p plan.Plan) string {
	var b strings.Builder
	for _, a := range p.Acts {
		fmt.Fprintf(&b, "%s%s\n", a.Name, map[bool]string{true: " AGAIN"}[a.Redo])
	}
	for _, r := range p.Refused {
		fmt.Fprintf(&b, "refused: %s | %s | %s\n", r.Sentence, strings.Join(r.Evidence, "; "), r.Command)
	}
	for _, w := range p.Waits {
		fmt.Fprintf(&b, "waits %d s: %s\n", w.Left, w.Sentence)
	}
	for _, r := range p.Ready {
		fmt.Fprintln(&b, r)
	}
	return b.String()
}

func TestDecide(t *testing.T) {
	usb := []spec.Swap{{On: "usb", Partition: "all"}}
	begun := []journal.Record{{Kind: string(act.MakeSwap), UUID: uuid}}
	for _, c := range []struct {
		name    string
		swap    []spec.Swap
		disks   []facts.Disk
		swaps   []string
		records []journal.Record
		change  func(*plan.Want)
		want    string
	}{
		{name: "none"},
		{name: "a blank stick gets a table and swap", swap: usb, disks: []facts.Disk{stick(facts.Blank, zero)},
			want: "make a partition table on sda with one partition for swap\nmake swap on sda1\nswap on /dev/sda1\n"},
		{name: "cut off after the table", swap: usb, disks: []facts.Disk{stick(facts.Foreign, table, zero)}, want: "make swap on sda1\nswap on /dev/sda1\n"},
		{name: "cut off within mkswap", swap: usb, disks: []facts.Disk{stick(facts.Foreign, table, data)}, records: begun, want: "make swap on sda1 AGAIN\nswap on /dev/sda1\n"},
		{name: "data in our partition that the journal does not explain", swap: usb, disks: []facts.Disk{stick(facts.Foreign, table, data)},
			want: "refused: swap on usb: sda1 is not blank | not zero at 0, nothing known there | \n"},
		{name: "the second boot", swap: usb, disks: []facts.Disk{stick(facts.OursComplete, table, facts.Content{Type: "swap", UUID: uuid})}, want: "swap on /dev/sda1\n"},
		{name: "in use", swap: usb, disks: []facts.Disk{stick(facts.OursComplete, table, facts.Content{Type: "swap", UUID: uuid})}, swaps: []string{"/dev/sda1"}, want: "swap on /dev/sda1\n"},
		{name: "somebody's stick", swap: usb, disks: []facts.Disk{stick(facts.Foreign, facts.Content{Table: "dos", TableID: "12345678"}, facts.Content{Type: "vfat"})},
			want: "refused: swap on usb: sda is not blank | seen | blkdiscard -f -z /dev/sda\n"},
		{name: "no stick yet", swap: usb, change: func(w *plan.Want) { w.Waited = 59 }, want: "waits 1 s: a USB stick for swap; there is no disk at all\n"},
		{name: "no stick", swap: usb, change: func(w *plan.Want) { w.Waited = 60 }, want: "refused: swap on usb: there is no USB stick | no disk at all | \n"},
		{name: "two blank sticks", swap: usb, disks: []facts.Disk{stick(facts.Blank, zero), {Name: "sdb", Bus: "usb", Class: facts.Blank, Content: zero, Size: size.GiB}},
			want: "refused: swap on usb: have sda, sdb, want one USB stick | sda (8 GiB, blank); sdb (1 GiB, blank) | \n"},
		{name: "nothing is made without a journal", swap: usb, disks: []facts.Disk{stick(facts.Blank, zero)}, change: func(w *plan.Want) { w.Recording = false },
			want: "refused: swap on usb: there is no journal on the state partition, and nothing is made without one |  | \n"},
		{name: "a file and RAM", swap: []spec.Swap{{On: "state", Size: size.GiB}, {On: "zram", Size: 512 * size.MiB}},
			want: "make swap file /state/grove/swap, 1GiB\nswap on /state/grove/swap\nmake swap in compressed RAM, 512MiB\nswap on /dev/zram0\n"},
		{name: "a file that is there", swap: []spec.Swap{{On: "state", Size: size.GiB}}, change: func(w *plan.Want) { w.Swapfile = size.GiB }, want: "swap on /state/grove/swap\n"},
		{name: "a file of another size", swap: []spec.Swap{{On: "state", Size: size.GiB}}, change: func(w *plan.Want) { w.Swapfile = size.MiB },
			want: "make swap file /state/grove/swap, 1GiB\nswap on /state/grove/swap\n"},
		{name: "a file without its partition", swap: []spec.Swap{{On: "state", Size: size.GiB}}, change: func(w *plan.Want) { w.Recording = false },
			want: "refused: swap on state: the state partition is not mounted |  | \n"},
		{name: "a partition that is swap already", swap: []spec.Swap{{On: "partition", Partition: "PART-2"}}, disks: []facts.Disk{stick(facts.Foreign, table, data, facts.Content{Type: "swap", UUID: "x"})},
			want: "swap on /dev/sda2\n"},
		{name: "a blank partition", swap: []spec.Swap{{On: "partition", Partition: "part-1"}}, disks: []facts.Disk{stick(facts.Foreign, table, zero)}, want: "make swap on sda1\nswap on /dev/sda1\n"},
		{name: "a partition with data", swap: []spec.Swap{{On: "partition", Partition: "part-1"}}, disks: []facts.Disk{stick(facts.Foreign, table, facts.Content{Type: "ext4", Label: "home"})},
			want: "refused: swap on partition part-1: sda1 is not blank | ext4, label home | \n"},
		{name: "a partition that is not there", swap: []spec.Swap{{On: "partition", Partition: "part-9"}}, change: func(w *plan.Want) { w.Waited = 60 },
			want: "refused: swap on partition part-9: no disk has it | no disk at all | \n"},
		{name: "one refusal keeps nothing else from being done", swap: append([]spec.Swap{{On: "zram", Size: size.GiB}}, usb...), disks: []facts.Disk{stick(facts.Foreign, data)},
			want: "make swap in compressed RAM, 1GiB\nswap on /dev/zram0\nrefused: swap on usb: sda is not blank | seen | blkdiscard -f -z /dev/sda\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := plan.Want{Identity: db1, Swap: c.swap, Recording: true}
			if c.change != nil {
				c.change(&w)
			}
			got := Decide(w, facts.Have{Disks: c.disks, Swaps: c.swaps}, plan.Picks{}, c.records)
			if diff := cmp.Diff(c.want, text(got)); diff != "" {
				t.Errorf("want - got +\n%s", diff)
			}
		})
	}
}

func TestStickOfTheDataIsNotSwaps(t *testing.T) {
	d := stick(facts.Blank, zero)
	got := Decide(plan.Want{Identity: db1, Swap: []spec.Swap{{On: "usb"}}, Recording: true, Waited: 60}, facts.Have{Disks: []facts.Disk{d}}, plan.Picks{Disks: []facts.Disk{d}}, nil)
	if len(got.Acts) > 0 || len(got.Refused) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestPartitionsHaveTheKernelsNames(t *testing.T) {
	for dev, want := range map[string]string{"/dev/sda": "/dev/sda1", "/dev/nvme0n1": "/dev/nvme0n1p1", "/dev/mmcblk0": "/dev/mmcblk0p1"} {
		if got := partitionOf(dev, 1); got != want {
			t.Errorf("%s: got %s", dev, got)
		}
	}
}
