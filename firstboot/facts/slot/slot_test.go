package slot

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	xen := func(kernel ...string) (disks []Disk) {
		for _, k := range kernel {
			disks = append(disks, Disk{Kernel: k, Bus: "xen"})
		}
		return disks
	}
	for _, c := range []struct {
		name    string
		disks   []Disk
		want    []string // names of each disk, with spaces
		remarks int
	}{
		{"a kernel's name is all that SATA has, and virtio stands in for Xen", []Disk{{Kernel: "vda", Bus: "virtio"}, {Kernel: "sda", Bus: "sata"}}, []string{"vda xvda", "sda"}, 0},
		{"a name of Xen's front end is EC2's with other letters", xen("xvda", "xvdb"), []string{"xvda sda", "xvdb sdb"}, 0},
		{"Xen has partitions as disks", xen("xvda1"), []string{"xvda1 sda1"}, 0},
		{"a Nitro disk is what it was attached as", []Disk{{"nvme1n1", "nvme", "sdf"}, {"nvme2n1", "nvme", "/dev/xvdb"}}, []string{"nvme1n1 sdf xvdf", "nvme2n1 xvdb sdb"}, 0},
		{"the root of Nitro is a whole disk that is called as a partition", []Disk{{"nvme0n1", "nvme", "/dev/sda1"}}, []string{"nvme0n1 sda1 xvda1 sda xvda"}, 0},
		{"an instance store has two names", []Disk{{"nvme1n1", "nvme", "ephemeral0:sdb"}, {"nvme2n1", "nvme", "ephemeral1:none"}}, []string{"nvme1n1 ephemeral0 sdb xvdb", "nvme2n1 ephemeral1"}, 0},
		{"an old kernel counts from the fifth letter", xen("xvde", "xvdf", "xvdj"), []string{"xvde sde xvda sda", "xvdf sdf xvdb sdb", "xvdj sdj"}, 2},
		{"one disk with its own letter is enough for no shift", xen("xvda", "xvde", "xvdf"), []string{"xvda sda", "xvde sde", "xvdf sdf"}, 0},
		{"volumes on sdf and on are the usual thing, no shift", xen("xvda", "xvdf", "xvdg"), []string{"xvda sda", "xvdf sdf", "xvdg sdg"}, 0},
		{"without a disk on the fifth letter nobody shifts", xen("xvdf", "xvdg"), []string{"xvdf sdf", "xvdg sdg"}, 0},
		{"the shift is Xen's alone", []Disk{{"sde", "sata", ""}, {"sdf", "sata", ""}}, []string{"sde", "sdf"}, 0},
		{"two letters never shift", xen("xvde", "xvdba"), []string{"xvde sde xvda sda", "xvdba sdba"}, 1},
	} {
		names, remarks := Names(c.disks)
		var got []string
		for _, n := range names {
			got = append(got, strings.Join(n, " "))
		}
		if diff := cmp.Diff(c.want, got); diff != "" || len(remarks) != c.remarks {
			t.Errorf("%s: remarks %q\n%s", c.name, remarks, diff)
		}
	}
}

func identify(vendor uint16, model, name string) []byte {
	data := make([]byte, 4096)
	binary.LittleEndian.PutUint16(data, vendor)
	copy(data[24:64], model)
	copy(data[3072:], name)
	return data
}

func TestParseNitro(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"EBS pads with spaces", identify(0x1d0f, "Amazon Elastic Block Store", "/dev/sdf"+strings.Repeat(" ", 24)), "/dev/sdf"},
		{"the folder may be missing", identify(0x1d0f, "", "xvdba"+strings.Repeat(" ", 27)), "xvdba"},
		{"an instance store pads with NULs", identify(0x1d0f, "", "ephemeral0:sdb"), "ephemeral0:sdb"},
		{"an instance store of no name", identify(0x1d0f, "", "ephemeral12:none\x00garbage"), "ephemeral12:none"},
		{"another maker's bytes mean something else", identify(0x1b36, "QEMU NVMe Ctrl", "/dev/sdf"), ""},
		{"no name", identify(0x1d0f, "", ""), ""},
		{"what is no name of a device", identify(0x1d0f, "", "../../etc/passwd"), ""},
		{"short", identify(0x1d0f, "", "sdf")[:3100], ""},
		{"nothing", nil, ""},
	} {
		if got := ParseNitro(c.data); got != c.want {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
		}
	}
}

// Whatever a controller says, a name is short, plain and safe to print, and gives names of devices only.
func FuzzParseNitro(f *testing.F) {
	for _, name := range []string{"/dev/sdf", "sdf   ", "ephemeral0:sdb", "ephemeral1:none", "/dev/sda1", "", "\x00", "::", "/dev//dev/sdb", strings.Repeat("x", 40)} {
		f.Add(uint16(0x1d0f), []byte(name))
	}
	f.Add(uint16(0x1b36), []byte("sdf"))
	f.Fuzz(func(t *testing.T, vendor uint16, name []byte) {
		got := ParseNitro(identify(vendor, "", string(name)))
		if len(got) > 32 || vendor != 0x1d0f && got != "" || got != "" && !nitroName.MatchString(got) {
			t.Errorf("%q: got %q", name, got)
		}
		ParseNitro(name)
		names, _ := Names([]Disk{{"nvme1n1", "nvme", got}})
		for _, n := range names[0] {
			if n == "" || n == "none" || strings.ContainsAny(n, "/: \x00") {
				t.Errorf("%q: gives the name %q", name, n)
			}
		}
	})
}

func TestEBS(t *testing.T) {
	const store = "Amazon Elastic Block Store"
	for _, c := range []struct{ model, serial, want string }{
		{store, "vol0a1b2c3d4e5f60718", "vol-0a1b2c3d4e5f60718"}, {store, "vol-0a1b2c3d", "vol-0a1b2c3d"}, {store, "AWS22A4E", ""}, {store, "vol0A1B2C3D", ""},
		{"QEMU NVMe Ctrl", "vol0a1b2c3d4e5f60718", ""}, {"Amazon EC2 NVMe Instance Storage", "vol0a1b2c3d4e5f60718", ""},
	} {
		if got := EBS(c.model, c.serial); got != c.want {
			t.Errorf("%s %s: got %q; want %q", c.model, c.serial, got, c.want)
		}
	}
}
