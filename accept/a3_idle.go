package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// a3Idle: what a node that nobody asks anything costs.
func a3Idle() []check {
	return []check{{name: "a3.figures", says: "the figures: boot to mongod by phase; the agent over an hour idle takes at most 40 MiB and 1 % of a processor, and does not grow", within: 90 * time.Minute, beside: true, run: idle,
		notCI: "an hour"}}
}

const (
	idleTicks = 60 // minutes
	hertz     = 100
)

func idle(ctx context.Context, b *bench) (string, error) {
	c, err := b.config(ctx, "bios", "virtio")
	if err != nil {
		return "", err
	}
	return inLab(ctx, c, "db1", func(ctx context.Context, r *rig) (string, error) {
		if err := r.lab.Wait(ctx); err != nil {
			return "", err
		}
		phases := "mongod answers after " + r.lab.Nodes()[0].Times.String()
		cost, err := r.hour(ctx)
		return phases + "\n" + cost, err
	})
}

// hour looks at the agent once a minute, through a console at which nobody else types.
func (r *rig) hour(ctx context.Context) (string, error) {
	var all []use
	for n := 0; n <= idleTicks; n++ {
		select {
		case <-time.After(time.Minute): // the first as well: what the start has used is not idle
		case <-ctx.Done():
			return "", ctx.Err()
		}
		u, err := r.use(ctx)
		if err != nil {
			return "", err
		}
		all = append(all, u)
	}
	first, last := all[0], all[len(all)-1]
	most := 0
	for _, u := range all {
		most = max(most, u.rss)
	}
	share := float64(last.ticks-first.ticks) / (last.at - first.at) / hertz * 100
	figure := fmt.Sprintf("the agent over %.0f s idle: RSS %.1f to %.1f MiB, at most %.1f; %.2f s CPU, %.2f %% of one processor; mongod RSS %.0f to %.0f MiB",
		last.at-first.at, float64(first.rss)/1024, float64(last.rss)/1024, float64(most)/1024, float64(last.ticks-first.ticks)/hertz, share, float64(first.mongod)/1024, float64(last.mongod)/1024)
	if most > 40<<10 || share > 1 || last.rss > first.rss+first.rss/5+2<<10 || first.pid != last.pid {
		return "", fmt.Errorf("%s; want at most 40 MiB, 1 %%, a fifth and 2 MiB more than at first, and one process", figure)
	}
	return figure, nil
}

// use is what the agent has used, at an uptime in seconds; memory in KiB.
type use struct {
	at                      float64
	pid, ticks, rss, mongod int
}

func (r *rig) use(ctx context.Context) (u use, err error) {
	text, err := r.sh(ctx, `p=$(cat /run/grove/agent.pid); cat /proc/uptime; cat /proc/$p/stat; grep VmRSS /proc/$p/status; grep VmRSS /proc/$(pidof mongod)/status`)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if err != nil || len(lines) != 4 {
		return u, fmt.Errorf("weigh the agent: %w: %q", err, text)
	}
	_, stat, _ := strings.Cut(lines[1], ") ") // fields from the third on, proc(5)
	f := strings.Fields(stat)
	if len(f) < 20 {
		return u, fmt.Errorf("weigh the agent: %q", text)
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	u.ticks = user + system
	u.pid, _ = strconv.Atoi(strings.Fields(lines[1])[0])
	_, err = fmt.Sscan(strings.Fields(lines[0])[0], &u.at)
	if err == nil {
		_, err = fmt.Sscanf(lines[2], "VmRSS: %d", &u.rss)
	}
	if err == nil {
		_, err = fmt.Sscanf(lines[3], "VmRSS: %d", &u.mongod)
	}
	if err != nil {
		return u, fmt.Errorf("weigh the agent: %w: %q", err, text)
	}
	return u, nil
}
