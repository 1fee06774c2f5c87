package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"grove/internal/size"
)

// a3Full: what a node says and does when a file system has no room.
func a3Full() []check {
	return []check{
		{name: "a3.6.log-full", says: "/log fills: named before and when it is full, mongod's end with its reason, later each time; once there is room all is well again", within: 10 * time.Minute, beside: true,
			run: lossy(raid10LVM, logFull)},
		{name: "a3.6.state-full", says: "/state fills: named, mongod serves, the agent dies and comes back, a power cycle too, and its records are as they were", within: 12 * time.Minute, beside: true, run: stateFull},
	}
}

// tells waits until the console has said this, since the node was switched on first, and gives the last such line.
func (r *rig) tells(ctx context.Context, pattern string) (line string, err error) {
	limit, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for want := regexp.MustCompile(`grove \d+\.\d\d ` + pattern + `[^\n]*`); ; {
		log, err := os.ReadFile(r.lab.Nodes()[0].Serial)
		if err != nil {
			return "", err
		}
		if all := want.FindAll(log, -1); len(all) > 0 {
			return strings.TrimSpace(string(all[len(all)-1])), nil
		}
		select {
		case <-time.After(time.Second):
		case <-limit.Done():
			return "", fmt.Errorf("the console has not said %s within 2 minutes", pattern)
		}
	}
}

// fill writes a file system nearly full, looks what is said, and then full.
func (r *rig) fill(ctx context.Context, mount string) error {
	free, err := r.restingFree(ctx, mount)
	if err != nil {
		return err
	}
	const left = 12 * size.MiB
	if _, err := r.sh(ctx, fmt.Sprintf("dd if=/dev/zero of=%s/fill bs=1048576 count=%d", mount, (free-left)/size.MiB)); err != nil {
		return err
	}
	if _, err := r.tells(ctx, "space: "+mount+" is nearly full, "); err != nil {
		return err
	}
	if _, err := r.problem(ctx, "space "+mount, "is nearly full"); err != nil {
		return err
	}
	if _, err := r.sh(ctx, fmt.Sprintf("dd if=/dev/zero of=%s/more bs=4096; true", mount)); err != nil {
		return err
	}
	if _, err := r.tells(ctx, "space: "+mount+" is full, "); err != nil {
		return err
	}
	_, err = r.problem(ctx, "space "+mount, "is full")
	return err
}

// restingFree waits until nobody else has written for two looks of the node's: swap files, mongod's first ones.
func (r *rig) restingFree(ctx context.Context, mount string) (size.Size, error) {
	for last := size.Size(-1); ; {
		free, err := r.free(ctx, mount)
		if err != nil || free/size.MiB == last/size.MiB {
			return free, err
		}
		last = free
		select {
		case <-time.After(20 * time.Second):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// free is what the page says.
func (r *rig) free(ctx context.Context, mount string) (size.Size, error) {
	text, err := r.sh(ctx, "cat /run/grove/status.json")
	if err != nil {
		return 0, err
	}
	var p struct {
		Space []struct {
			Mount string `json:"mount"`
			Free  int64  `json:"free"` // bytes
		} `json:"space"`
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return 0, fmt.Errorf("status.json: %w: %s", err, text)
	}
	for _, room := range p.Space {
		if room.Mount == mount {
			return size.Size(room.Free), nil
		}
	}
	return 0, fmt.Errorf("the page knows nothing of %s: %+v", mount, p.Space)
}

// well removes what filled it, and waits until nothing is wrong.
func (r *rig) well(ctx context.Context, mount string) error {
	if _, err := r.sh(ctx, fmt.Sprintf("rm %s/fill %s/more", mount, mount)); err != nil {
		return err
	}
	if _, err := r.tells(ctx, "space: "+mount+" has room again"); err != nil {
		return err
	}
	_, err := r.becomes(ctx, "it serves without a problem", func(p netPage) bool { return p.Phase == "serving" && len(p.Problems) == 0 })
	return err
}

func logFull(ctx context.Context, r *rig) (string, error) {
	if err := r.fill(ctx, "/log"); err != nil {
		return "", err
	}
	stop := r.knocks(ctx) // each is a line in the log
	defer stop()
	ended, err := r.tells(ctx, `mongod: 6\.0\.5, pid \d+, ended: [^\n]*it said last: [^\n]*/log is full`)
	stop()
	if err != nil {
		return "", err
	}
	if !strings.Contains(ended, "Writing to log file failed") {
		return "", errors.New("mongod's own words are missing: " + ended)
	}
	if _, err := r.problem(ctx, "mongod", "ended"); err != nil {
		return "", err
	}
	later, err := r.tells(ctx, `mongod: 6\.0\.5, pid \d+, ended: [^\n]*starts again in [248]s`)
	if err != nil {
		return "", err
	}
	if err := r.well(ctx, "/log"); err != nil {
		return "", err
	}
	if err := r.server().Read(ctx, "whole"); err != nil {
		return "", err
	}
	return ended + "\n" + later, nil
}

// records are the agent's own files on /state, with their sums.
const records = `for f in /state/grove/journal/*; do shasum $f; done`

func stateFull(ctx context.Context, b *bench) (string, error) {
	image, err := b.of(ctx, raid10LVM)
	if err != nil {
		return "", err
	}
	image.Lab.Disk = 2 * size.GiB // soon full
	r, err := b.boot(ctx, image, "db1", raid10LVM.disks)
	if err != nil {
		return "", err
	}
	defer r.close(ctx)
	figure, err := r.stateFull(ctx)
	return figure, r.blame(err)
}

func (r *rig) stateFull(ctx context.Context) (string, error) {
	if err := r.lab.Wait(ctx); err != nil {
		return "", err
	}
	if _, err := r.tells(ctx, "storage: done: swap on"); err != nil { // a file there, and the last record
		return "", err
	}
	before, err := r.sh(ctx, records)
	if err == nil {
		err = r.fill(ctx, "/state")
	}
	if err != nil {
		return "", err
	}
	first, err := r.status(ctx)
	if err == nil {
		err = r.server().Write(ctx, "full")
	}
	if err == nil {
		_, err = r.sh(ctx, "kill -9 $(cat /run/grove/agent.pid)")
	}
	if err != nil {
		return "", err
	}
	p, err := r.settled(ctx, 1)
	if err == nil && p.Mongod.PID != first.Mongod.PID {
		err = fmt.Errorf("mongod's pid was %d and is %d", first.Mongod.PID, p.Mongod.PID)
	}
	if err == nil {
		_, err = r.problem(ctx, "space /state", "is full")
	}
	if err == nil {
		err = r.again(ctx)
	}
	if err == nil {
		err = r.lab.Wait(ctx)
	}
	if err != nil {
		return "", err
	}
	sentence, err := r.problem(ctx, "space /state", "is full")
	if err == nil {
		err = r.server().Read(ctx, "full")
	}
	if err != nil {
		return "", err
	}
	after, err := r.sh(ctx, records)
	if err == nil && after != before {
		err = fmt.Errorf("the agent's records were\n%s\nand are\n%s", before, after)
	}
	if err == nil {
		err = r.well(ctx, "/state")
	}
	return fmt.Sprintf("%s; %d records as they were", sentence, strings.Count(before, "\n")+1), err
}
