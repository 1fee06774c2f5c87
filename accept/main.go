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
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

// check is one line of a list "shows it is done", or a part of one.
type check struct {
	name   string
	says   string        // what holds
	notCI  string        // why CI leaves it out; empty when it does not
	within time.Duration // after which it has failed
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
	for _, c := range a1() {
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
	var passed, failed int
	var left []string
	for _, c := range checks {
		if ci && c.notCI != "" {
			left = append(left, fmt.Sprintf("%s (%s)", c.name, c.notCI))
			continue
		}
		if one(ctx, c, b) {
			passed++
		} else {
			failed++
		}
		if ctx.Err() != nil {
			fmt.Println("accept: interrupted")
			return 130
		}
	}
	if len(left) > 0 {
		fmt.Println("left out by CI:", strings.Join(left, ", "))
	}
	if passed+failed == 0 {
		fmt.Println("accept: no check is called so; accept -list names them")
		return 2
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	return min(failed, 1)
}

func one(ctx context.Context, c check, b *bench) bool {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	figure, err := c.run(ctx, b)
	took := time.Since(start).Seconds()
	if err != nil {
		fmt.Printf("FAILED %-16s %s (%.1f s)\n       %s\n", c.name, c.says, took, strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "\n       "))
		return false
	}
	fmt.Printf("ok     %-16s %s (%.1f s)\n", c.name, c.says, took)
	if figure != "" {
		fmt.Printf("       %s\n", strings.ReplaceAll(figure, "\n", "\n       "))
	}
	return true
}
