package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"grove/builder/lab/bay"
	"grove/internal/host"
	"grove/internal/size"
)

// a2: first boot: disks, RAID, volumes, swap, without ever losing data.
func a2() []check {
	var list []check
	inCI := []string{"raid10-lvm-ext4", "raid0-xfs"} // array, volumes, both file systems; a5.2 has SATA and swap on a USB stick
	for _, l := range layouts() {
		list = append(list, check{name: "a2.1." + l.name, says: l.says + ": from blank disks to a mongod that serves from /data, seen by the node's own tools", within: 5 * time.Minute, beside: true, run: made(l),
			notCI: unless(slices.Contains(inCI, l.name), "its parts are those of "+strings.Join(inCI, ", ")+" and a5.2")})
	}
	for _, l := range []layout{raid10LVM, named("raid0-xfs"), named("ext4")} {
		list = append(list, check{name: "a2.2." + l.name, notCI: unless(l.name == "ext4", "it hashes its disks twice; CI runs a2.2.ext4"), says: "the second boot of " + l.name + " changes no byte of the data disks before it mounts them, nor writes but by the kernel until mongod starts; its plan is empty", within: 8 * time.Minute, beside: true, run: secondBoot(l)})
	}
	list = append(list, refusedChecks()...)
	const hours = "tens of boots; CI runs a2.4.some and a2.4.walk"
	list = append(list,
		check{name: "a2.4.some", says: "power cut at 4 points between blank and ready: the next boot ends in the same state", within: 8 * time.Minute, run: cutEverywhere(raid10LVM, 20, 4)},
		check{name: "a2.4.raid10-lvm-ext4", says: "power cut at every journal record and in the middle of every step, and during resync: the next boot ends in the same state", within: 40 * time.Minute, notCI: hours,
			run: cutEverywhere(raid10LVM, 20, 0)},
		check{name: "a2.4.xfs", says: "the same with one disk and xfs", within: 20 * time.Minute, notCI: hours, run: cutEverywhere(named("xfs"), 6, 0)},
		check{name: "a2.4.usb-swap-sata", says: "the same with swap on a USB stick", within: 20 * time.Minute, notCI: hours, run: cutEverywhere(named("usb-swap-sata"), 6, 0)},
		check{name: "a2.4.data", says: "power cut twice under a mongod that serves: what was acknowledged is there", within: 6 * time.Minute, beside: true, run: keepsData(raid10LVM)},
		check{name: "a2.4.walk", says: "the walk on the fake machine: power cut after each step, in random order", within: 5 * time.Minute, beside: true, run: goTest("./firstboot/storage", "Walk")},
		check{name: "a2.5.run", says: "RAID 10, one disk pulled while it runs: the node serves, the status says degraded and since when", within: 6 * time.Minute, beside: true, run: lossy(raid10LVM, pulledRunning)},
		check{name: "a2.5.boot", says: "RAID 10, one disk missing at boot: the node serves, the status says degraded and since when", within: 6 * time.Minute, beside: true, run: lossy(raid10LVM, pulledOff),
			notCI: "it waits for the missing disk; CI runs a2.5.run"},
		check{name: "a2.5.replaced", says: "a blank disk in its place is left alone until a person says so, and then rebuilt", within: 10 * time.Minute, beside: true, run: lossy(small(), replaced),
			notCI: "it waits half a minute for the missing disk, and for a rebuild"},
		check{name: "a2.5.rebuild", says: "a blank disk in its place is rebuilt when the recipe says so", within: 10 * time.Minute, beside: true, run: lossy(rebuildsItself(), replacedItself),
			notCI: "as a2.5.replaced"},
		check{name: "a2.6", says: "disk names shuffled between boots, the medium's too: same arrays, same mounts", within: 8 * time.Minute, beside: true, run: shuffled},
		check{name: "a2.7", says: "the image on a larger disk: state fills it, sgdisk -v finds no problem", within: 5 * time.Minute, beside: true, run: larger},
		check{name: "a2.8.tables", says: "names of xvd, sd and NVMe, partition suffixes and the letter shift by tables from recorded /sys", within: 5 * time.Minute, beside: true,
			run: goTest("./firstboot/facts/...", "TestNames|TestParseNitro|TestEBS|TestDisksOfRecorded|TestPartitionHas|TestNumbersName|TestArraysAnd")},
		check{name: "a2.8.fuzz", says: "the NVMe identify parser, fuzzed for 20 s", within: 5 * time.Minute, beside: true, run: fuzzed},
		check{name: "a2.figures", says: "the figures: each layout alone, from the agent's start to mounted data, and the memory", within: 10 * time.Minute, run: storageFigures,
			notCI: "CI's machine is shared; a2.1 prints the same of each layout"})
	return list
}

// unless is the reason to leave a check out, "" where it is not left out.
func unless(runs bool, why string) string {
	if runs {
		return ""
	}
	return why
}

// named is one of the layouts.
func named(name string) layout {
	for _, l := range layouts() {
		if l.name == name {
			return l
		}
	}
	panic("BUG: no layout " + name)
}

// larger boots the demo from a medium of 24 GiB and reads its table from outside.
func larger(ctx context.Context, b *bench) (string, error) {
	image, err := b.of(ctx, alone("one", "xvdb"))
	if err != nil {
		return "", err
	}
	image.Lab.Disk = 24 * size.GiB
	r, err := b.boot(ctx, image, "db1", []bay.Disk{{Size: size.GiB}})
	if err != nil {
		return "", err
	}
	defer r.close(ctx)
	figure, err := r.grown(ctx, b)
	return figure, r.blame(err)
}

func (r *rig) grown(ctx context.Context, b *bench) (string, error) {
	if _, err := r.ready(ctx); err != nil {
		return "", err
	}
	sectors, err := r.sh(ctx, "cat /sys/class/block/vda5/size")
	if err != nil {
		return "", err
	}
	table, err := r.sh(ctx, "df")
	if err != nil {
		return "", err
	}
	if err := r.lab.PowerOff(ctx, r.node); err != nil {
		return "", err
	}
	medium, err := r.lab.Medium(r.node)
	if err != nil {
		return "", err
	}
	raw := b.folder("medium") + "/medium.raw"
	if err := b.made(ctx, "qemu-img", "convert", "-O", "raw", medium, raw); err != nil {
		return "", err
	}
	verdict := b.program(ctx, host.Command{Path: "sgdisk", Args: []string{"-v", raw}})
	if verdict.code != 0 || !strings.Contains(verdict.out, "No problems found") {
		return "", errors.New(verdict.out)
	}
	n, err := strconv.ParseInt(sectors, 10, 64)
	if err != nil {
		return "", err
	}
	if state := size.Size(n * 512); state < 22*size.GiB {
		return "", fmt.Errorf("state has %s of 24 GiB: %s", state.Short(), table)
	}
	return fmt.Sprintf("state has %s of 24 GiB; sgdisk: %s", size.Size(n*512).Short(), strings.TrimSpace(lines(verdict.out, "problems found"))), nil
}

func fuzzed(ctx context.Context, b *bench) (string, error) {
	r := b.program(ctx, host.Command{Path: "go", Args: []string{"test", "-run", "^$", "-fuzz", "^FuzzParseNitro$", "-fuzztime", "20s", "-parallel", "2", "./firstboot/facts/slot"}})
	found := regexp.MustCompile(`execs: \d+`).FindAllString(r.out, -1)
	if r.code != 0 || len(found) == 0 {
		return "", errors.New(r.out)
	}
	return found[len(found)-1], nil
}
