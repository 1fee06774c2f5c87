package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"grove/builder/lab/bay"
	"grove/internal/size"
)

// refused is a case of a2.3: what is on the disks, and what the node must say of it.
type refused struct {
	name     string
	says     string
	layout   layout
	disks    func(ctx context.Context, b *bench) ([]bay.Disk, error)
	class    string // in the words of the refusal
	evidence string // pattern, in what is beside it or in the refusal itself
	command  bool   // the way out is named
	then     func(ctx context.Context, r *rig) error
	notCI    string
}

// one disk that a recipe wants for itself.
func alone(name, disk string) layout {
	return layout{name: name, yaml: "storage:\n  disks: [" + disk + "]\n  filesystem: ext4\n"}
}

const notBlank, others = "is not blank", "is another node's"

func refusals() []refused {
	on := func(name, says, evidence string, content func(context.Context, *bench) (string, error)) refused {
		return refused{name: name, says: says + " is refused as foreign", layout: alone("one", "xvdb"), class: notBlank, evidence: evidence, command: true, disks: holding(content)}
	}
	three := layout{name: "three-of-four", yaml: "storage:\n  disks: [{serial: d1, bus: virtio}, {serial: d2, bus: virtio}, {serial: d3, bus: virtio}, {serial: d4, bus: virtio}]\n  raid: {level: 10}\n  filesystem: ext4\n"}
	unequal := layout{name: "unequal", yaml: "storage:\n  disks: [xvdb, xvdc]\n  raid: {level: 1}\n  filesystem: ext4\n"}
	mounted := on("mounted", "", `(?i)/mnt`, crafted("ext4"))
	mounted.says, mounted.class, mounted.command, mounted.then = "a disk that is mounted, read-only, before a new agent looks is refused as busy", "is in use", false, mountsIt
	otherNode := on("other-node", "", `(?i)\bother\b`, recorded("data"))
	otherNode.says, otherNode.class, otherNode.command = "the data disk of another node of ours is refused as another node's, and that node is named", others, false
	otherMember := on("other-member", "", `(?i)\bother\b`, recorded("member"))
	otherMember.says, otherMember.class, otherMember.command = "an array's disk of another node of ours is refused as another node's, and that node is named", others, false
	return []refused{
		on("ext4", "a disk with ext4", `ext4`, crafted("ext4")),
		on("xfs", "a disk with xfs", `xfs`, recorded("xfs")),
		on("ntfs", "a disk with a boot sector as NTFS has it", `ntfs`, crafted("ntfs")),
		on("luks", "a disk with a LUKS header", `(?i)luks`, crafted("luks")),
		on("gpt", "a disk with a GPT", `(?i)gpt`, crafted("gpt")),
		on("mbr", "a disk with an MBR", `(?i)dos|mbr`, crafted("mbr")),
		on("md-member", "a member of another array", `raid10 "alien"`, recorded("alien")),
		on("lvm-pv", "a physical volume of LVM", `LVM2_member|(?i)physical volume`, recorded("pv")),
		on("random", "random data without any signature", `(?i)data|not zero|byte`, crafted("random")),
		on("middle", "data only in the middle of the disk", `(?i)data|not zero|byte`, crafted("middle")),
		otherNode, otherMember,
		{name: "missing", says: "with one of four disks missing nothing is made: it is waited for, named, and then refused", layout: three, class: "have 3 disks, want 4", evidence: `vdb`,
			disks: fixed(bay.Disk{Size: 512 * size.MiB}, bay.Disk{Size: 512 * size.MiB}, bay.Disk{Size: 512 * size.MiB}), notCI: "it waits a minute"},
		{name: "unequal", says: "disks of unequal size are refused, with both sizes", layout: unequal, class: "differ in size", evidence: `vdb`,
			disks: fixed(bay.Disk{Size: 512 * size.MiB}, bay.Disk{Size: 520 * size.MiB})},
		{name: "boot-disk", says: "the boot disk named in the recipe is refused as the system's", layout: alone("boot-disk", "vda"), class: "the disk that the node runs from", evidence: `vda3 is /usr`,
			disks: fixed(bay.Disk{Size: 512 * size.MiB})},
		mounted,
	}
}

// refusedChecks makes a check of each.
func refusedChecks() (all []check) {
	for _, c := range refusals() {
		left := c.notCI
		if slices.Contains([]string{"xfs", "ntfs", "gpt", "mbr", "random"}, c.name) {
			left = "half a minute each; firstboot/facts tells these contents apart in go test, and CI runs others of a2.3"
		}
		all = append(all, check{name: "a2.3." + c.name, says: c.says + "; byte-identical afterwards, node reachable, no mongod", within: 5 * time.Minute, beside: true, notCI: left, run: c.run})
	}
	return all
}

func (c refused) run(ctx context.Context, b *bench) (string, error) {
	disks, err := c.disks(ctx, b)
	if err != nil {
		return "", err
	}
	r, err := b.rig(ctx, c.layout, "db1", disks)
	if err != nil {
		return "", err
	}
	defer r.close(ctx)
	before, err := r.sums()
	if err != nil {
		return "", err
	}
	figure, err := c.seen(ctx, r)
	if err != nil {
		return "", r.blame(err)
	}
	if err := r.lab.PowerOff(ctx, r.node); err != nil {
		return "", r.blame(err)
	}
	after, err := r.sums()
	if err != nil {
		return "", err
	}
	if !slices.Equal(before, after) {
		return "", r.blame(fmt.Errorf("the disks were %s and are %s", before, after))
	}
	return figure, nil
}

// sums are those of all disks, in their order.
func (r *rig) sums() (all []string, err error) {
	for _, name := range r.bay.Names() {
		s, err := r.bay.Sum(name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// seen is the refusal on the console and in the status, and that the node is there and mongod is not.
func (c refused) seen(ctx context.Context, r *rig) (string, error) {
	_, words, err := r.says(ctx, `refused`)
	if err != nil {
		return "", err
	}
	if c.then != nil {
		if err := c.then(ctx, r); err != nil {
			return "", err
		}
		if _, words, err = r.says(ctx, `refused`); err != nil {
			return "", err
		}
	}
	if !strings.Contains(words, c.class) {
		return "", fmt.Errorf("the console says %q; want %q in it", words, c.class)
	}
	s, err := r.status(ctx)
	if err != nil {
		return "", err
	}
	if err := c.fits(s); err != nil {
		return "", fmt.Errorf("status %+v: %w", s, err)
	}
	out, err := r.sh(ctx, `echo mongod=$(pidof mongod) data=$(grep " /(data|log|journal) " /proc/mounts)`)
	if err != nil {
		return "", err
	}
	if out != "mongod= data=" {
		return "", fmt.Errorf("want no mongod and nothing on /data, have %s", out)
	}
	return words, nil
}

func (c refused) fits(s page) error {
	if s.Phase != "degraded" || s.Mongod.PID != 0 {
		return fmt.Errorf("want phase degraded and no mongod")
	}
	for _, f := range s.Storage.Refused {
		if strings.Contains(f.Sentence, c.class) {
			if !regexp.MustCompile(c.evidence).MatchString(strings.Join(append(f.Evidence, f.Sentence), "\n")) {
				return fmt.Errorf("no %q in the evidence %q", c.evidence, f.Evidence)
			}
			if c.command != (f.Command != "") {
				return fmt.Errorf("the operator's command is %q", f.Command)
			}
			return nil
		}
	}
	return fmt.Errorf("no refusal with %q", c.class)
}

// mountsIt takes the disk into use behind the agent's back, without a write to it, and has a new agent look.
func mountsIt(ctx context.Context, r *rig) error {
	if _, err := r.sh(ctx, "mkdir -p /mnt && /usr/bin/mount -t ext4 -o ro,noload /dev/vdb /mnt"); err != nil {
		return err
	}
	_, err := r.sh(ctx, "kill -9 $(cat /run/grove/agent.pid)")
	return err
}

func fixed(disks ...bay.Disk) func(context.Context, *bench) ([]bay.Disk, error) {
	return func(context.Context, *bench) ([]bay.Disk, error) { return disks, nil }
}

func holding(content func(context.Context, *bench) (string, error)) func(context.Context, *bench) ([]bay.Disk, error) {
	return func(ctx context.Context, b *bench) ([]bay.Disk, error) {
		file, err := content(ctx, b)
		return []bay.Disk{{File: file}}, err
	}
}
