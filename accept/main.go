// Command accept runs the product's acceptance checks: each is one line of what was promised, has a name, prints its figure and can fail.
//
//	make accept               all of them
//	make accept ONLY=a1.3     those whose names begin so
//	make accept CI=1          those that fit CI's time; the others are named
//
// The checks use the grove command as a person does, and the lab's package where a node has to be watched from inside.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"
)

// check is one line of a list "shows it is done", or a part of one.
type check struct {
	name   string
	says   string        // what holds
	notCI  string        // why CI leaves it out; empty when it does not
	within time.Duration // after which it has failed
	beside bool          // may run beside another that may; it measures no time against a limit
	run    func(ctx context.Context, b *bench) (figure string, err error)
}

func main() {
	only := flag.String("only", "", "run the checks whose names begin with one of these, separated by commas")
	ci := flag.Bool("ci", false, "leave out what does not fit CI's time")
	list := flag.Bool("list", false, "list the checks")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	checks := chosen(*only)
	if *list {
		for _, c := range checks {
			fmt.Printf("%-18s %s\n", c.name, c.says)
		}
		return
	}
	os.Exit(all(ctx, checks, *ci))
}

func chosen(only string) []check {
	var some []check
	for _, c := range slices.Concat(a1(), a2(), a3(), a4(), a5()) {
		for _, want := range strings.Split(only, ",") {
			if c.name == want || want == "" || strings.HasPrefix(c.name, want+".") {
				some = append(some, c)
				break
			}
		}
	}
	return some
}

func all(ctx context.Context, checks []check, ci bool) int {
	b, err := newBench(ctx)
	if err != nil {
		fmt.Println("accept:", err)
		return 1
	}
	if os.Getenv("KEEP") == "" { // KEEP=1 leaves images and logs to be looked at
		defer b.close()
	}
	var left []string
	var some []check
	for _, c := range checks {
		if ci && c.notCI != "" {
			left = append(left, fmt.Sprintf("%s (%s)", c.name, c.notCI))
		} else {
			some = append(some, c)
		}
	}
	failed := inLanes(ctx, some, b)
	if ci && len(failed) <= mostAgain {
		failed = onceMore(ctx, failed, b)
	}
	if ctx.Err() != nil {
		fmt.Println("accept: interrupted")
		return 130
	}
	if len(left) > 0 {
		fmt.Println("left out by CI:", strings.Join(left, ", "))
	}
	if len(some) == 0 {
		fmt.Println("accept: no check is called so; accept -list names them")
		return 2
	}
	fmt.Printf("%d passed, %d failed\n", len(some)-len(failed), len(failed))
	return min(len(failed), 1)
}

// mostAgain is how many checks CI tries once more, alone: two nodes beside each other have more processors than the machine, and what one of them is late by then is no fault
// of the product. A fault fails again, and more than a few are none of the machine's.
const mostAgain = 3

func onceMore(ctx context.Context, checks []check, b *bench) (failed []check) {
	for _, c := range checks {
		fmt.Printf("again  %-16s alone, as it failed beside another\n", c.name)
		if !one(ctx, c, b) {
			failed = append(failed, c)
		}
	}
	return failed
}

// inLanes runs checks one after the other, and two at once where both allow it: a node in QEMU has use for one processor and a half.
func inLanes(ctx context.Context, checks []check, b *bench) (failed []check) {
	const lanes = 2
	free := make(chan struct{}, lanes)
	var mu sync.Mutex
	var running sync.WaitGroup
	for _, c := range checks {
		take := 1
		if !c.beside {
			take = lanes
		}
		for range take {
			free <- struct{}{}
		}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			ok := one(ctx, c, b)
			mu.Lock()
			defer mu.Unlock()
			if !ok {
				failed = append(failed, c)
			}
			for range take {
				<-free
			}
		})
	}
	running.Wait()
	return failed
}

func one(ctx context.Context, c check, b *bench) bool {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	figure, err := c.run(ctx, b)
	if errors.Is(err, errEmulator) {
		fmt.Printf("again  %-16s %v\n", c.name, err)
		figure, err = c.run(ctx, b)
	}
	took := time.Since(start).Seconds()
	verdict, below := "ok    ", figure
	if err != nil {
		verdict, below = "FAILED", strings.TrimSpace(err.Error())
	}
	text := fmt.Sprintf("%s %-16s %s (%.1f s)\n", verdict, c.name, c.says, took)
	if below != "" {
		text += "       " + strings.ReplaceAll(below, "\n", "\n       ") + "\n"
	}
	fmt.Print(text) // in one piece: two checks may end at once
	return err == nil
}
