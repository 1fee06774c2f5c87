// Package slot is what a disk may be called: by the kernel, and by a cloud that knows it by the slot that a person attached it to.
//
// A recipe that says xvdb means vdb in QEMU, where the same image is tried out: virtio counts its letters as Xen does. It does not mean sdb there, which is SATA's or USB's.
//
// EC2 says sdb, an image of 2015 says xvdb, and a Nitro instance shows nvme1n1, in another order at each boot; all three mean one slot. The kernel's name always
// holds; the others hold beside it. Nothing here is looked up: names follow from values, and two disks of one name are left for whoever picks to refuse.
package slot

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Disk is what a name follows from.
type Disk struct {
	Kernel string // nvme1n1, xvdb
	Bus    string // one of spec.Buses
	Asked  string // of a Nitro disk, the name that it was attached by, as ParseNitro gives it
}

// Names gives the names of each disk, the kernel's first, and what a person should hear of those that are not certain.
func Names(disks []Disk) (names [][]string, remarks []string) {
	shifted := lettersAreShifted(disks)
	for _, d := range disks {
		all := []string{d.Kernel}
		switch {
		case d.Asked != "":
			all = append(all, asked(d.Asked)...)
		case d.Bus == "xen":
			all = append(all, twin(d.Kernel)...)
		case d.Bus == "virtio":
			all = append(all, "x"+d.Kernel)
		}
		if alias := unshifted(d.Kernel); shifted && d.Bus == "xen" && alias != "" && !slices.ContainsFunc(disks, func(o Disk) bool { return o.Kernel == alias }) {
			all = append(append(all, alias), twin(alias)...)
			remarks = append(remarks, fmt.Sprintf("%s is also taken for %s: there are no xvda to xvdd but an xvde, so this kernel counts letters from the fifth", d.Kernel, alias))
		}
		names = append(names, unique(all))
	}
	return names, remarks
}

var (
	xvd = regexp.MustCompile(`^xvd([a-z]{1,2}[0-9]*)$`)
	sd  = regexp.MustCompile(`^sd([a-z]{1,2}[0-9]*)$`)
)

// twin is the same slot in the other manner: Xen's front end shows as xvdb what EC2 calls sdb.
func twin(name string) []string {
	if m := xvd.FindStringSubmatch(name); m != nil {
		return []string{"sd" + m[1]}
	}
	if m := sd.FindStringSubmatch(name); m != nil {
		return []string{"xvd" + m[1]}
	}
	return nil
}

// asked takes the forms that Nitro has: sdf, /dev/sdf, xvdf, /dev/sda1 (a whole disk, all the same), ephemeral0:sdb, ephemeral0:none.
func asked(vendor string) (all []string) {
	for _, name := range strings.Split(vendor, ":") {
		name = strings.TrimPrefix(name, "/dev/")
		if name == "" || name == "none" {
			continue
		}
		all = append(append(all, name), twin(name)...)
		if bare := strings.TrimRight(name, "0123456789"); bare != name && twin(bare) != nil {
			all = append(append(all, bare), twin(bare)...)
		}
	}
	return all
}

// lettersAreShifted knows the kernels of RHEL and CentOS 6, where sda shows as xvde and sdb as xvdf, by the root disk that nobody else calls so. A kernel of
// today with a volume on sdf has an xvdf, too: there, xvdf is sdf and nothing else.
func lettersAreShifted(disks []Disk) bool {
	fifth := false
	for _, d := range disks {
		m := xvd.FindStringSubmatch(d.Kernel)
		switch {
		case d.Bus != "xen" || m == nil:
		case m[1][0] >= 'a' && m[1][0] <= 'd' && strings.Trim(m[1][1:], "0123456789") == "":
			return false
		case m[1] == "e" || m[1] == "e1":
			fifth = true
		}
	}
	return fifth
}

// unshifted is xvdb for xvdf; "" where there is none.
func unshifted(name string) string {
	m := xvd.FindStringSubmatch(name)
	if m == nil || m[1][0] < 'e' || strings.Trim(m[1][1:], "0123456789") != "" {
		return ""
	}
	return "xvd" + string(m[1][0]-4) + m[1][1:]
}

func unique(names []string) (all []string) {
	for _, n := range names {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}
