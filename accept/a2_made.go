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
)

// made is a layout's way from blank disks to a mongod that serves from them.
func made(l layout) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		r, err := b.rig(ctx, l, "db1", l.disks)
		if err != nil {
			return "", err
		}
		defer r.close(ctx)
		figure, err := r.serves(ctx, l)
		return figure, r.blame(err)
	}
}

// serves looks at all that a layout promises, and measures it.
func (r *rig) serves(ctx context.Context, l layout) (string, error) {
	ready, err := r.ready(ctx)
	if err != nil {
		return "", err
	}
	if err := r.lab.Wait(ctx); err != nil {
		return "", err
	}
	v, err := r.look(ctx)
	if err == nil {
		err = r.holds(ctx, v)
	}
	if err == nil {
		err = v.wants(l.want)
	}
	if err == nil {
		err = r.keeps(ctx, "first")
	}
	if err != nil {
		return "", err
	}
	s, err := r.status(ctx)
	if err != nil {
		return "", err
	}
	if s.Phase != "serving" || len(s.Problems) > 0 || len(s.Storage.Refused) > 0 {
		return "", fmt.Errorf("status: %+v; want it serving without a problem", s)
	}
	if rss := float64(s.Agent.RSS) / (1 << 20); rss > 40 {
		return "", fmt.Errorf("the agent takes %.1f MiB; want at most 40", rss)
	}
	return fmt.Sprintf("mounted %.1f s after the agent's start, agent RSS %.1f MiB; mongod answers %s", ready-s.Agent.Started, float64(s.Agent.RSS)/(1<<20), r.lab.Nodes()[0].Times), nil
}

// keeps writes a document that is on disk when it returns, and reads it.
func (r *rig) keeps(ctx context.Context, mark string) error {
	if err := r.server().Write(ctx, mark); err != nil {
		return err
	}
	return r.server().Read(ctx, mark)
}

// storageFigures boots each layout alone, as far as the disks being ready, and measures.
func storageFigures(ctx context.Context, b *bench) (string, error) {
	var table []string
	for _, l := range layouts() {
		row, err := b.measure(ctx, l)
		if err != nil {
			return "", fmt.Errorf("%s: %w", l.name, err)
		}
		table = append(table, row)
	}
	return strings.Join(table, "\n"), nil
}

func (b *bench) measure(ctx context.Context, l layout) (string, error) {
	r, err := b.rig(ctx, l, "db1", l.disks)
	if err != nil {
		return "", err
	}
	defer r.close(ctx)
	ready, err := r.ready(ctx)
	if err != nil {
		return "", r.blame(err)
	}
	out, err := r.sh(ctx, "cat /proc/$(cat /run/grove/agent.pid)/status /proc/meminfo")
	if err != nil {
		return "", r.blame(err)
	}
	s, err := r.status(ctx)
	if err != nil {
		return "", r.blame(err)
	}
	mib := func(key string) float64 {
		found := regexp.MustCompile(`(?m)^` + key + `:\s+(\d+) kB`).FindStringSubmatch(out)
		if found == nil {
			return 0
		}
		n, _ := strconv.ParseFloat(found[1], 64)
		return n / 1024
	}
	return fmt.Sprintf("%-16s mounted %5.1f s after the agent's start; agent at most %.0f MiB; the node uses %.0f of %.0f MiB", l.name, ready-s.Agent.Started, mib("VmHWM"),
		mib("MemTotal")-mib("MemAvailable"), mib("MemTotal")), nil
}

// secondBoot looks at a boot that has nothing to make. The power is cut as the first mount begins, and the disks have not changed by a byte; then it boots to the end, and the node's
// own count of sectors is that nothing was written but by the kernel, as it started an array and mounted.
func secondBoot(l layout) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		r, err := b.rig(ctx, l, "db1", l.disks)
		if err != nil {
			return "", err
		}
		defer r.close(ctx)
		figure, err := r.writesNothing(ctx, l)
		return figure, r.blame(err)
	}
}

func (r *rig) writesNothing(ctx context.Context, l layout) (string, error) {
	if _, err := r.ready(ctx); err != nil {
		return "", err
	}
	if err := r.synced(ctx); err != nil {
		return "", err
	}
	if err := r.lab.PowerOff(ctx, r.node); err != nil {
		return "", err
	}
	if err := r.untilMounted(ctx); err != nil {
		return "", err
	}
	if err := r.lab.Start(ctx, r.node); err != nil {
		return "", err
	}
	if err := r.lab.Wait(ctx); err != nil {
		return "", err
	}
	s, err := r.status(ctx)
	if err != nil {
		return "", err
	}
	var counts []string
	for _, w := range s.Storage.Written {
		counts = append(counts, fmt.Sprintf("%s %d", w.Disk, w.AtMount))
		if w.Sectors-w.AtMount > l.bitmap() {
			return "", fmt.Errorf("%s: %d sectors were written before mongod's start, %d of them by mounts", w.Disk, w.Sectors, w.AtMount)
		}
	}
	if len(counts) != len(l.disks) {
		return "", fmt.Errorf("status counts what was written to %q; want %d disks", counts, len(l.disks))
	}
	if _, err := r.swapTable(ctx); err != nil { // it is switched on while mongod starts
		return "", err
	}
	plan, err := r.sh(ctx, "/init plan --json")
	if err != nil {
		return "", err
	}
	if !strings.Contains(plan, `"acts"`) || regexp.MustCompile(`"(kind|sentence)"`).MatchString(plan) {
		return "", fmt.Errorf("the plan of a second boot: %s; want nothing in it", plan)
	}
	return "byte-identical up to the first mount, plan empty; sectors that the kernel wrote as it mounted: " + strings.Join(counts, ", "), nil
}

// bitmap is the sector of the write-intent bitmap's superblock that the kernel writes to each member when it starts an array, with the bytes that are there (md_bitmap_load in
// drivers/md/md-bitmap.c ends with md_bitmap_update_sb).
func (l layout) bitmap() int64 {
	if regexp.MustCompile(`level: 10?[,}]`).MatchString(l.yaml) {
		return 1
	}
	return 0
}

// untilMounted boots as far as the first mount and compares the disks with what they were.
func (r *rig) untilMounted(ctx context.Context) error {
	before, err := r.sums()
	if err != nil {
		return err
	}
	cut, err := r.lab.CutAt(r.node, regexp.MustCompile(`storage: begins: mount `), 0)
	if err != nil {
		return err
	}
	if err := r.lab.Start(ctx, r.node); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, saidWithin)
	defer cancel()
	if _, err := cut.Wait(wait); err != nil {
		return err
	}
	after, err := r.sums()
	if err == nil && !slices.Equal(before, after) {
		err = fmt.Errorf("a second boot, cut before it mounts, has changed the disks: they were %s and are %s", before, after)
	}
	return err
}

// synced waits for the end of an array's first resync, which writes as long as it runs.
func (r *rig) synced(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*time.Minute, errors.New("not in sync within 3 minutes"))
	defer cancel()
	for {
		stat, err := r.sh(ctx, "if test -e /proc/mdstat; then cat /proc/mdstat; fi")
		if err != nil {
			return err
		}
		if !regexp.MustCompile(`resync|recovery`).MatchString(stat) {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), stat)
		}
	}
}
