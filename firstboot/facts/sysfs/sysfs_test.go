package sysfs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/firstboot/facts/sysfs/sysfstest"
	"grove/internal/size"
)

func TestDisksOfRecordedMachines(t *testing.T) {
	state := Part{Name: "vda5", Number: 5, Start: 2105344 * 512, Size: 14669824 * 512}
	for machine, want := range map[string][]Disk{
		"qemu": {
			{Name: "mmcblk0", Size: 512 * size.MiB, Bus: "mmc", Serial: "0xdeadbeef", Model: "QEMU!"},
			{Name: "nvme0n1", Size: size.GiB, Bus: "nvme", Serial: "nv0", Model: "QEMU NVMe Ctrl"},
			{Name: "sda", Size: size.GiB, Bus: "sata", Serial: "SATA0001", Model: "QEMU HARDDISK"},
			{Name: "sdb", Size: size.GiB, Bus: "scsi", Serial: "scsi4", Model: "QEMU HARDDISK"},
			{Name: "sdc", Size: size.GiB, Bus: "usb", Serial: "usb123", Model: "QEMU HARDDISK"},
			{Name: "vda", Size: 8 * size.GiB, Bus: "virtio", Serial: "medium", Parts: []Part{
				{Name: "vda1", Number: 1, Start: size.MiB, Size: size.MiB}, {Name: "vda2", Number: 2, Start: 4 * size.MiB, Size: 256 * size.MiB},
				{Name: "vda3", Number: 3, Start: 260 * size.MiB, Size: 384 * size.MiB}, {Name: "vda4", Number: 4, Start: 644 * size.MiB, Size: 384 * size.MiB}, state}},
			{Name: "vdb", Size: 64 * size.MiB, Bus: "virtio", Serial: "tools"},
			{Name: "vdc", Size: size.GiB, Bus: "virtio", Serial: "virt5"},
		},
		"nitro": {
			{Name: "nvme0n1", Size: 8 * size.GiB, Bus: "nvme", Serial: "vol0a1b2c3d4e5f60718", Model: "Amazon Elastic Block Store",
				Parts: []Part{{Name: "nvme0n1p1", Number: 1, Start: size.MiB, Size: size.MiB}}},
			{Name: "nvme1n1", Size: 100 * size.GiB, Bus: "nvme", Serial: "vol00112233445566778", Model: "Amazon Elastic Block Store"},
			{Name: "nvme2n1", Size: 146484375 * 512, Bus: "nvme", Serial: "AWS22A4E8E4B4F4D6B1C", Model: "Amazon EC2 NVMe Instance Storage"},
		},
		"xen": {{Name: "xvda", Size: 8 * size.GiB, Bus: "xen"}, {Name: "xvdb", Size: size.TiB, Bus: "xen"}},
	} {
		root := t.TempDir()
		sysfstest.Plant(t, root, "testdata/"+machine+".sys")
		got, err := Disks(root)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", machine, err, diff)
		}
	}
}

func TestNoSysIsAnError(t *testing.T) {
	if _, err := Disks(t.TempDir()); err == nil || !strings.HasPrefix(err.Error(), "look for disks: ") {
		t.Errorf("got %v", err)
	}
}

func TestHoldersAreFollowedUp(t *testing.T) {
	root := t.TempDir()
	sysfstest.Plant(t, root, "testdata/qemu.sys")
	for _, line := range []string{"/sys/block/vda/vda5/holders/md127 -> ../x", "/sys/class/block/md127/holders/dm-1 -> ../x", "/sys/class/block/md127/holders/dm-0 -> ../x",
		"/sys/block/vda/holders/md127 -> ../x"} {
		sysfstest.Set(t, root, line)
	}
	disks, err := Disks(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range disks {
		if want := map[string][]string{"vda": {"dm-0", "dm-1", "md127"}}[d.Name]; !cmp.Equal(d.Holders, want) {
			t.Errorf("%s: got %q; want %q", d.Name, d.Holders, want)
		}
	}
}

func TestPartitionHasAPAfterADigit(t *testing.T) {
	for disk, want := range map[string]string{"sda": "sda5", "xvdb": "xvdb5", "vda": "vda5", "sdaa": "sdaa5", "nvme0n1": "nvme0n1p5", "mmcblk0": "mmcblk0p5", "md0": "md0p5", "xvda1": "xvda1p5"} {
		if got := Partition(disk, 5); got != want {
			t.Errorf("%s: got %s; want %s", disk, got, want)
		}
	}
}

func TestNumbersNameDevices(t *testing.T) {
	root := t.TempDir()
	sysfstest.Plant(t, root, "testdata/qemu.sys")
	got := Numbers(root)
	if got["254:5"] != "vda5" || got["8:32"] != "sdc" || got["259:0"] != "nvme0n1" {
		t.Errorf("got %v", got)
	}
}

func TestPagesOfVitalProductData(t *testing.T) {
	ata := "\x02\x01\x00\x44ATA     Samsung SSD 860 EVO 500GB               S3Z1NB0K123456A     "
	for page, want := range map[string]string{"": "", "\x00\x80": "", "\x00\x80\x00\x05abcde": "abcde", "\x00\x80\x00\xffabc": "abc", "\x00\x80\x00\x06  a\x00b ": "ab", "\x00\x83\x00\x01a": ""} {
		if got := vpdSerial([]byte(page)); got != want {
			t.Errorf("serial of %q: got %q; want %q", page, got, want)
		}
	}
	for page, want := range map[string]string{
		"": "", "\x00\x83\x00\x00": "", "\x00\x83\x00\x48" + ata: "Samsung SSD 860 EVO 500GB",
		"\x00\x83\x00\x60\x02\x00\x00\x04abcd\x01\x03\x00\x08\x50\x02\x53\x8e\x40\x00\x00\x00" + ata: "Samsung SSD 860 EVO 500GB",
		"\x00\x83\x00\x48" + ata[:40]: "", "\x00\x83\x00\x10\x01\x01\x00\x44": "", "\x00\x83\x00\x48" + strings.Replace(ata, "ATA", "XTA", 1): "",
	} {
		if got := ataModel([]byte(page)); got != want {
			t.Errorf("model of %q: got %q; want %q", page, got, want)
		}
	}
}

func TestArraysAndMappedDevices(t *testing.T) {
	root := t.TempDir()
	sysfstest.Plant(t, root, "testdata/raid10.sys")
	want := []Array{
		{Name: "md126", State: "clean", UUID: "cf67b775-cb82-c266-4f44-e256156cde6d", Level: "raid1", Disks: 2, Working: 2, Sync: "idle", Done: "none", Size: 127 * size.MiB,
			Members: []Member{{"vdg", 0, "in_sync"}, {"vdh", 1, "in_sync"}}},
		{Name: "md127", State: "clean", UUID: "01234567-89ab-8def-8123-456789abcdef", Level: "raid10", Disks: 4, Working: 3, Sync: "idle", Done: "none", Size: 254 * size.MiB,
			Members: []Member{{"vdc", 0, "in_sync"}, {"vdd", 1, "in_sync"}, {"vde", -1, "faulty"}, {"vdf", 3, "in_sync"}}},
	}
	if diff := cmp.Diff(want, Arrays(root)); diff != "" {
		t.Error(diff)
	}
	group := "LVM-zOwy2f44fQjKFEqaoJMLTmk7MG5k0WDW"
	mapped := []Mapped{{"dm-0", "grove-data", group + "J08jFXX0NePA4hjwjNYMEfG4ETAAts0f", 224 * size.MiB}, {"dm-1", "grove-log", group + "rjndx1O0MTGP886lO1tRDmeAVQst1Y68", 12 * size.MiB}}
	if diff := cmp.Diff(mapped, Mappeds(root)); diff != "" {
		t.Error(diff)
	}
	sysfstest.Set(t, root, `/sys/block/md126/md/array_state = "clear\n"`)
	if got := Arrays(root); len(got) != 1 {
		t.Errorf("a stopped array is listed: %+v", got)
	}
}
