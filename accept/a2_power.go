package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// point is where the power is cut: at a line of the console, or some time after it.
type point struct {
	name  string
	line  string // pattern of the text after `storage: `
	after time.Duration
}

// course is an undisturbed first boot: what it said of its disks, when, and what came of it.
type course struct {
	said []saying
	ends view
}

type saying struct {
	at   float64 // uptime
	text string
}

var aboutStorage = regexp.MustCompile(`grove (\d+\.\d\d) storage: ([^\n]*)\n`)

// course boots a layout from blank disks.
func (b *bench) course(ctx context.Context, l layout) (c course, err error) {
	r, err := b.rig(ctx, l, "db1", l.disks)
	if err != nil {
		return c, err
	}
	defer r.close(ctx)
	wait, cancel := context.WithTimeout(ctx, saidWithin)
	defer cancel()
	for !c.complete(r.swap) {
		found, err := r.lab.Expect(wait, r.node, aboutStorage)
		if err != nil {
			return c, r.blame(err)
		}
		at, _ := strconv.ParseFloat(found[1], 64)
		c.said = append(c.said, saying{at, found[2]})
		if strings.HasPrefix(found[2], "refused") {
			return c, r.blame(errors.New("storage: " + found[2]))
		}
	}
	c.ends, err = r.look(ctx)
	return c, r.blame(err)
}

// complete says that the disks are ready and, if there is to be swap, that it is on: it is made while mongod starts.
func (c course) complete(swap bool) bool {
	ready, on := false, !swap
	for _, s := range c.said {
		ready = ready || strings.HasPrefix(s.text, "ready")
		on = on || strings.HasPrefix(s.text, "done: swap on")
	}
	return ready && on
}

// recordNumber stands behind an act that has a record in the journal.
var recordNumber = regexp.MustCompile(` \(journal \d+\)$`)

// points makes the table. The power goes as each act that has a record in the journal begins and as it is done, and in the middle of the first of each kind; as the first of the others of
// a kind begins, and in its middle; and after all is ready, while an array is still being made equal.
func (c course) points() (all []point) {
	seen := map[string]bool{}
	for n, s := range c.said {
		name, begins := strings.CutPrefix(s.text, "begins: ")
		if !begins {
			continue
		}
		bare := recordNumber.ReplaceAllString(name, "")
		kind, records := strings.Join(strings.Fields(bare)[:2], " "), bare != name
		if !records {
			kind = strings.Fields(bare)[0]
		}
		if records || !seen[kind] {
			all = append(all, point{name: "as it begins: " + bare, line: `begins: ` + regexp.QuoteMeta(bare)})
		}
		if half := c.took(n, bare) / 2; !seen[kind] && half > 0 {
			all = append(all, point{name: fmt.Sprintf("%.2f s into it: %s", half.Seconds(), bare), line: `begins: ` + regexp.QuoteMeta(bare), after: half})
		}
		if records {
			all = append(all, point{name: "as it is done: " + bare, line: `done: ` + regexp.QuoteMeta(bare)})
		}
		seen[kind] = true
	}
	return append(all, point{name: "0.05 s after all is ready", line: `ready`, after: 50 * time.Millisecond}, point{name: "1 s after all is ready", line: `ready`, after: time.Second})
}

// took is from an act's beginning to its end, 0 without one.
func (c course) took(begins int, name string) time.Duration {
	for _, later := range c.said[begins:] {
		if later.text == "done: "+name {
			return time.Duration((later.at - c.said[begins].at) * float64(time.Second))
		}
	}
	return 0
}

// result of one point.
type struck struct {
	point
	line string
	err  error
}

// cutEverywhere cuts the power at every point of a layout's first boot, on fresh disks each, and compares the next boot's end with an undisturbed one's. least is how many points there
// have to be; with few it takes that many of them, spread over the course.
func cutEverywhere(l layout, least, few int) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		c, err := b.course(ctx, l)
		if err != nil {
			return "", err
		}
		table := c.points()
		if len(table) < least {
			return "", fmt.Errorf("%d points, want %d: %v", len(table), least, c.said)
		}
		if few > 0 {
			table = spread(table, few)
		}
		var lines []string
		var all error
		for _, s := range cutAll(ctx, b, l, c, table) {
			if s.err != nil {
				all = errors.Join(all, fmt.Errorf("cut %s: %w", s.name, s.err))
				continue
			}
			lines = append(lines, s.name)
		}
		if all != nil {
			return "", fmt.Errorf("%d of %d points failed:\n%w", len(table)-len(lines), len(table), all)
		}
		return fmt.Sprintf("%d points, each with the same end as undisturbed:\n%s", len(lines), strings.Join(lines, "\n")), nil
	}
}

func spread(table []point, few int) (some []point) {
	for n := range few {
		some = append(some, table[n*(len(table)-1)/(few-1)])
	}
	return some
}

// cutAll works two at once.
func cutAll(ctx context.Context, b *bench, l layout, c course, table []point) []struck {
	all := make([]struck, len(table))
	lanes := make(chan struct{}, 2)
	var running sync.WaitGroup
	for n, p := range table {
		lanes <- struct{}{}
		running.Go(func() {
			defer func() { <-lanes }()
			line, err := b.cutOnce(ctx, l, c, p)
			if errors.Is(err, errEmulator) {
				line, err = b.cutOnce(ctx, l, c, p)
			}
			all[n] = struck{p, line, err}
		})
	}
	running.Wait()
	return all
}

func (b *bench) cutOnce(ctx context.Context, l layout, c course, p point) (string, error) {
	r, err := b.rig(ctx, l, "db1", l.disks)
	if err != nil {
		return "", err
	}
	defer r.close(ctx)
	line, err := r.cutAndResume(ctx, c, p)
	return line, r.blame(err)
}

func (r *rig) cutAndResume(ctx context.Context, c course, p point) (string, error) {
	cut, err := r.lab.CutAt(r.node, regexp.MustCompile(`grove \d+\.\d\d storage: `+p.line), p.after)
	if err != nil {
		return "", err
	}
	wait, cancel := context.WithTimeoutCause(ctx, saidWithin, fmt.Errorf("not said within %s", saidWithin))
	defer cancel()
	line, err := cut.Wait(wait)
	if err != nil {
		return "", err
	}
	if err := r.lab.Start(ctx, r.node); err != nil {
		return "", err
	}
	if _, err := r.ready(ctx); err != nil {
		return "", err
	}
	v, err := r.look(ctx)
	if err != nil {
		return "", err
	}
	if v.String() != c.ends.String() {
		return "", fmt.Errorf("undisturbed it was\n%s\nand now it is\n%s", c.ends, v)
	}
	return line, nil
}

// keepsData cuts the power of a node that serves, twice, and looks for what was written: a disk with data is never made anew, also when the journal has no end.
func keepsData(l layout) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		r, err := b.rig(ctx, l, "db1", l.disks)
		if err != nil {
			return "", err
		}
		defer r.close(ctx)
		return "a document written and journaled was found after each of 2 cuts", r.blame(r.survives(ctx))
	}
}

func (r *rig) survives(ctx context.Context) error {
	if err := r.lab.Wait(ctx); err != nil {
		return err
	}
	if err := r.keeps(ctx, "before the cuts"); err != nil {
		return err
	}
	for range 2 {
		if err := r.lab.Reset(ctx, r.node); err != nil {
			return err
		}
		if err := r.lab.Wait(ctx); err != nil {
			return err
		}
		if err := r.server().Read(ctx, "before the cuts"); err != nil {
			return err
		}
	}
	return nil
}
