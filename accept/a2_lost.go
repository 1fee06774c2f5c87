package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"grove/builder/lab/bay"
	"grove/internal/size"
)

// small is RAID 10 of disks that are soon in sync.
func small() layout {
	l := named("raid10-xfs")
	l.disks = nil
	for range 4 {
		l.disks = append(l.disks, bay.Disk{Size: size.GiB})
	}
	return l
}

// rebuildsItself is the recipe that takes a blank disk in the place of a lost one without asking.
func rebuildsItself() layout {
	l := small()
	l.name += "-rebuild"
	l.yaml = strings.Replace(l.yaml, "  filesystem:", "  rebuild: true\n  filesystem:", 1)
	return l
}

// lossy runs a part on a node of a layout that serves and holds a document.
func lossy(l layout, do func(context.Context, *rig) (string, error)) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		r, err := b.rig(ctx, l, "db1", l.disks)
		if err != nil {
			return "", err
		}
		defer r.close(ctx)
		if _, err = r.ready(ctx); err == nil {
			err = r.lab.Wait(ctx)
		}
		if err == nil {
			err = r.keeps(ctx, "whole")
		}
		if err != nil {
			return "", r.blame(err)
		}
		figure, err := do(ctx, r)
		return figure, r.blame(err)
	}
}

// degradedWithin is how long a running node may take to notice a lost disk that it writes to.
const degradedWithin = time.Minute

// pulledRunning takes a disk out of a node that serves.
func pulledRunning(ctx context.Context, r *rig) (string, error) {
	if err := r.lab.Unplug(ctx, r.node, "d2"); err != nil {
		return "", err
	}
	if err := r.keeps(ctx, "degraded"); err != nil {
		return "", err
	}
	return r.degraded(ctx)
}

// degraded waits until the status says so and since when, and sees that the node serves.
func (r *rig) degraded(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, degradedWithin, fmt.Errorf("not said within %v", degradedWithin))
	defer cancel()
	for {
		s, err := r.status(ctx)
		if err != nil {
			return "", err
		}
		for _, a := range s.Storage.Arrays {
			if a.Degraded && a.Since > 0 {
				return fmt.Sprintf("degraded since %.1f s, phase %s; %s", a.Since, s.Phase, strings.Join(s.Problems, "; ")), r.servesDegraded(ctx, s)
			}
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return "", fmt.Errorf("degraded in the status: %w; it is %+v", context.Cause(ctx), s)
		}
	}
}

func (r *rig) servesDegraded(ctx context.Context, s page) error {
	v, err := r.look(ctx)
	if err != nil {
		return err
	}
	if !regexp.MustCompile(`\[4/3\]`).MatchString(v["array"]) {
		return fmt.Errorf("the array is %s; want three of four", v["array"])
	}
	if s.Phase != "serving" || len(s.Problems) == 0 {
		return fmt.Errorf("status %+v; want it serving, with the problem named", s)
	}
	return r.server().Read(ctx, "whole")
}

// pulledOff takes a disk out of a node that is off.
func pulledOff(ctx context.Context, r *rig) (string, error) {
	if err := r.lab.PowerOff(ctx, r.node); err != nil {
		return "", err
	}
	if err := r.bay.Pull("d3"); err != nil {
		return "", err
	}
	if err := r.lab.Start(ctx, r.node); err != nil {
		return "", err
	}
	return r.servesAgain(ctx)
}

func (r *rig) servesAgain(ctx context.Context) (string, error) {
	if _, err := r.ready(ctx); err != nil {
		return "", err
	}
	if err := r.lab.Wait(ctx); err != nil {
		return "", err
	}
	if err := r.keeps(ctx, "one less"); err != nil {
		return "", err
	}
	return r.degraded(ctx)
}

// replaced puts a blank disk into the place of one, and sees that nothing is done with it until a person says so.
func replaced(ctx context.Context, r *rig) (string, error) {
	blank, err := r.swapDisk(ctx)
	if err != nil {
		return "", err
	}
	if _, err := r.servesAgain(ctx); err != nil {
		return "", err
	}
	dev, err := r.device(ctx, "d2")
	if err != nil {
		return "", err
	}
	if now, err := r.bay.Sum("d2"); err != nil || now != blank {
		return "", fmt.Errorf("the blank disk was written to before anybody asked for it: %w", err)
	}
	if _, err := r.sh(ctx, "/init storage rebuild /dev/"+dev); err != nil {
		return "", err
	}
	return r.whole(ctx)
}

// replacedItself is the same with a recipe that says so beforehand.
func replacedItself(ctx context.Context, r *rig) (string, error) {
	if _, err := r.swapDisk(ctx); err != nil {
		return "", err
	}
	if _, err := r.ready(ctx); err != nil {
		return "", err
	}
	if err := r.lab.Wait(ctx); err != nil {
		return "", err
	}
	return r.whole(ctx)
}

// swapDisk takes d2 out of the node, which is off meanwhile, once the array is in sync, and gives the sum of the blank one in its place.
func (r *rig) swapDisk(ctx context.Context) (sum string, err error) {
	if err := r.synced(ctx); err != nil {
		return "", err
	}
	if err := r.lab.PowerOff(ctx, r.node); err != nil {
		return "", err
	}
	if err := r.bay.Replace("d2", bay.Disk{}); err != nil {
		return "", err
	}
	if sum, err = r.bay.Sum("d2"); err != nil {
		return "", err
	}
	return sum, r.lab.Start(ctx, r.node)
}

// whole waits until the array is, and looks for the data.
func (r *rig) whole(ctx context.Context) (string, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Minute, errors.New("not whole within 5 minutes"))
	defer cancel()
	for {
		stat, err := r.sh(ctx, "cat /proc/mdstat")
		if err != nil {
			return "", err
		}
		if strings.Contains(stat, "[UUUU]") && !regexp.MustCompile(`resync|recovery`).MatchString(stat) {
			break
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return "", fmt.Errorf("%w: %s", context.Cause(ctx), stat)
		}
	}
	return fmt.Sprintf("rebuilt within %.0f s", time.Since(began).Seconds()), r.server().Read(ctx, "whole")
}
