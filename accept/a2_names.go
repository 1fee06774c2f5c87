package main

import (
	"context"
	"fmt"
	"strings"

	"grove/builder/lab/bay"
)

// shuffled is 2.6.
func shuffled(ctx context.Context, b *bench) (string, error) {
	l := raid10LVM
	l.name, l.disks = "raid10-serials", nil
	l.yaml = strings.Replace(l.yaml, "[xvdb, xvdc, xvdd, xvde]", "[{serial: s1}, {serial: s2}, {serial: s3}, {serial: s4}]", 1)
	for _, serial := range []string{"s1", "s2", "s3", "s4"} {
		l.disks = append(l.disks, bay.Disk{Name: serial, Size: four()[0].Size})
	}
	r, err := b.rig(ctx, l, "db1", l.disks)
	if err != nil {
		return "", err
	}
	defer r.close(ctx)
	figure, err := r.shuffles(ctx)
	return figure, r.blame(err)
}

func (r *rig) shuffles(ctx context.Context) (string, error) {
	var first view
	var firstNames string
	var figures []string
	for _, order := range [][]string{{bay.Medium, "s1", "s2", "s3", "s4"}, {"s4", "s2", bay.Medium, "s3", "s1"}, {"s3", bay.Medium, "s1", "s4", "s2"}} {
		if first != nil {
			if err := r.lab.PowerOff(ctx, r.node); err != nil {
				return "", err
			}
			if err := r.bay.Order(order...); err != nil {
				return "", err
			}
			if err := r.lab.Start(ctx, r.node); err != nil {
				return "", err
			}
		}
		if _, err := r.ready(ctx); err != nil {
			return "", err
		}
		v, err := r.look(ctx)
		if err != nil {
			return "", err
		}
		var names []string
		for _, serial := range []string{"s1", "s2", "s3", "s4"} {
			dev, err := r.device(ctx, serial)
			if err != nil {
				return "", err
			}
			names = append(names, dev)
		}
		now := strings.Join(names, " ")
		figures = append(figures, now)
		if first == nil {
			first, firstNames = v, now
			continue
		}
		if now == firstNames {
			return "", fmt.Errorf("the names did not change: %s", now)
		}
		if v.String() != first.String() {
			return "", fmt.Errorf("with s1 to s4 as %s it was\n%s\nand with %s it is\n%s", firstNames, first, now, v)
		}
	}
	return "s1 to s4 were " + strings.Join(figures, ", then ") + ": same arrays, same mounts", nil
}

// device is what the node's kernel calls a disk, by its serial.
func (r *rig) device(ctx context.Context, name string) (string, error) {
	d, err := r.bay.Machine(name)
	if err != nil {
		return "", err
	}
	out, err := r.sh(ctx, `for d in /sys/block/*; do for s in $d/serial $d/device/serial; do if test -e $s; then echo $d $(cat $s); fi; done; done`)
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(out, "\n") {
		if f := strings.Fields(line); len(f) == 2 && f[1] == d.Serial {
			return strings.TrimPrefix(f[0], "/sys/block/"), nil
		}
	}
	return "", fmt.Errorf("no disk with the serial %s: %s", d.Serial, out)
}
