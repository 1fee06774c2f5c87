package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"grove/builder/artifact"
	"grove/builder/lab"
	"grove/builder/lab/bay"
	"grove/internal/size"
	"grove/internal/spec"
)

// layout is what a recipe makes of disks, and what must then be seen inside the node.
type layout struct {
	name  string
	says  string
	board string // m4.4xlarge
	yaml  string // added to the demo's recipe
	disks []bay.Disk
	want  []sight
}

// sight is a pattern in one part of a view; every one has to be found.
type sight struct{ part, pattern string }

// cluster is that of every recipe here, so that the nodes are of one.
const cluster = "\ncluster: a2\n"

func four() []bay.Disk { return blanks(4, "virtio") }

func blanks(n int, bus string) (all []bay.Disk) {
	for range n {
		all = append(all, bay.Disk{Bus: bus, Size: 3 * size.GiB})
	}
	return all
}

var raid10LVM = layout{
	name: "raid10-lvm-ext4", says: "RAID 10 of 4 disks in chunks of 256 KiB, LVM 90/5/5, ext4",
	yaml: `storage:
  disks: [xvdb, xvdc, xvdd, xvde]
  raid: {level: 10, chunk: 256KiB}
  volumes: {data: 90%, log: 5%, journal: 5%}
  filesystem: ext4
  options: [noatime, noexec]
swap: [{on: state, size: 256MiB}]
`,
	disks: four(),
	want: []sight{
		{"array", `raid10 256K chunks 2 near-copies \[4/4\] \[UUUU\]`},
		{"array", `MD_LEVEL=raid10`},
		{"groups", `^\S+ pvs=1 lvs=3 `},
		{"shares", `^data 90%\njournal 5%\nlog 5%$`},
		{"/data", `^ext4 \S*noexec,noatime`}, {"/log", `^ext4 \S*noexec,noatime`}, {"/journal", `^ext4 \S*noexec,noatime`},
		{"link", `^/journal`},
		{"swaps", `^/state/\S+ file 26214[04]$`},
		{"mongod", `(?m)^/data/\S*WiredTiger\.wt$`}, {"mongod", `(?m)^/journal/\S*WiredTigerLog`}, {"mongod", `(?m)^/log/\S*mongod\.log$`},
	},
}

func layouts() []layout {
	one := func(fs, more string) string {
		return "storage:\n  disks: [xvdb]\n  filesystem: " + fs + "\n" + more
	}
	return []layout{
		raid10LVM,
		{name: "raid10-xfs", says: "RAID 10 of 4 disks, xfs on all of it",
			yaml:  "storage:\n  disks: [xvdb, xvdc, xvdd, xvde]\n  raid: {level: 10}\n  filesystem: xfs\nswap: [{on: zram, size: 256MiB}]\n",
			disks: four(),
			want: []sight{{"array", `raid10 256K chunks 2 near-copies \[4/4\] \[UUUU\]`}, {"/data", `^xfs \S*noexec,noatime`}, {"swaps", `^/dev/zram0 partition 26214[04]$`},
				{"mongod", `(?m)^/data/\S*WiredTiger\.wt$`}},
		},
		{name: "raid0-xfs", says: "RAID 0 of 2 disks, xfs",
			yaml:  "storage:\n  disks: [xvdb, xvdc]\n  raid: {level: 0, chunk: 64KiB}\n  filesystem: xfs\n",
			disks: blanks(2, "virtio"),
			want:  []sight{{"array", `raid0 64k chunks`}, {"/data", `^xfs \S*noexec,noatime`}, {"swaps", `^$`}, {"mongod", `(?m)^/data/\S*WiredTiger\.wt$`}},
		},
		{name: "raid1", says: "RAID 1 of 2 NVMe disks found by their serials, ext4",
			yaml:  "storage:\n  disks: [{serial: left}, {serial: right}]\n  raid: {level: 1}\n  filesystem: ext4\n",
			disks: []bay.Disk{{Bus: "nvme", Size: 2 * size.GiB, Serial: "left"}, {Bus: "nvme", Size: 2 * size.GiB, Serial: "right"}},
			want:  []sight{{"array", `raid1 \[2/2\] \[UU\]`}, {"/data", `^ext4 \S*noexec,noatime`}, {"mongod", `(?m)^/data/\S*WiredTiger\.wt$`}},
		},
		{name: "ext4", says: "one disk, ext4, options of the default", yaml: one("ext4", ""), disks: blanks(1, "virtio"),
			want: []sight{{"array", `^$`}, {"/data", `^ext4 \S*nosuid,nodev,noexec,noatime`}, {"mongod", `(?m)^/data/\S*WiredTiger\.wt$`}, {"mongod", `(?m)^/\S*mongod\.log$`}}},
		{name: "xfs", says: "one disk, xfs, options of the recipe", yaml: one("xfs", "  options: [noatime, inode64]\n"), disks: blanks(1, "virtio"),
			want: []sight{{"array", `^$`}, {"/data", `^xfs rw,noatime,\S*inode64`}, {"mongod", `(?m)^/data/\S*WiredTiger\.wt$`}}},
		{name: "usb-swap-sata", says: "swap on a whole USB stick, type 82, and data on a SATA disk", board: "qemu-amd64",
			yaml:  "storage:\n  disks: [{bus: sata}]\n  filesystem: ext4\nswap: [{on: usb, partition: all}]\n",
			disks: []bay.Disk{{Bus: "sata", Size: 2 * size.GiB, Model: "Small SSD"}, {Bus: "usb", Size: size.GiB}},
			want:  []sight{{"/data", `^ext4 \S*noexec,noatime`}, {"swaps", `^/dev/sdX1 partition 10[0-9]{5}\n`}, {"swaps", `PART_ENTRY_TYPE=0x82\b`}, {"swaps", `TYPE=swap`}, {"mongod", `(?m)^/data/\S*WiredTiger\.wt$`}},
		},
	}
}

// of is the layout's image, built once.
func (b *bench) of(ctx context.Context, l layout) (lab.Image, error) {
	b.turn.Lock()
	defer b.turn.Unlock()
	if i, built := b.images[l.name]; built {
		return i, nil
	}
	demo, err := b.recipe("\nboard: m4.4xlarge", "\nboard: "+or(l.board, "m4.4xlarge"))
	if err != nil {
		return lab.Image{}, err
	}
	text, err := os.ReadFile(demo)
	if err != nil {
		return lab.Image{}, err
	}
	dir := filepath.Dir(demo)
	file := filepath.Join(dir, l.name+".yaml")
	if err := os.WriteFile(file, append(text, cluster+l.yaml...), 0o644); err != nil {
		return lab.Image{}, err
	}
	if r := b.run(ctx, nil, "build", file, "-o", dir); r.code != 0 {
		return lab.Image{}, fmt.Errorf("grove build %s.yaml: exit code %d: %s", l.name, r.code, r.out)
	}
	i, err := open(filepath.Join(dir, l.name+".img"))
	if err == nil {
		b.images[l.name] = i
	}
	return i, err
}

// open is an artifact as the lab takes it.
func open(path string) (lab.Image, error) {
	a, err := artifact.Open(path)
	if err != nil {
		return lab.Image{}, err
	}
	var img spec.Image
	if err := json.Unmarshal(a.Manifest.Spec, &img); err != nil {
		return lab.Image{}, err
	}
	return lab.Image{Name: img.Name, Path: path, Arch: img.Board.Arch, Lab: img.Board.Lab}, nil
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
