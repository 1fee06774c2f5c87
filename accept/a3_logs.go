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

	"grove/builder/lab/bay"
	"grove/internal/size"
)

// a3Logs: mongod's log over a day's worth of connections.
func a3Logs() []check {
	return []check{
		{name: "a3.4.mongod", says: "mongod's log put aside six times while connections come: each is there, accepted and ended", within: 6 * time.Minute, run: withMongod("./firstboot/rotate", "Real", "TestNoLineOfARealMongodIsLost")},
		{name: "a3.4", says: "more than 10,000 lines of mongod's log: put aside five times, packed, four kept, mongod never restarted, no line lost", within: 15 * time.Minute, run: rotated,
			notCI: "the node looks at its log each minute; firstboot/rotate walks the same in go test"},
	}
}

// short is a layout whose log is put aside at each look.
func short() layout {
	l := named("ext4")
	l.name, l.yaml = "short-log", l.yaml+"logs: {size: 1MiB, keep: 4}\n"
	return l
}

func rotated(ctx context.Context, b *bench) (string, error) {
	r, err := b.rig(ctx, short(), "db1", []bay.Disk{{Size: 3 * size.GiB}})
	if err != nil {
		return "", err
	}
	defer r.close(ctx)
	figure, err := r.rotates(ctx)
	return figure, r.blame(err)
}

func (r *rig) rotates(ctx context.Context) (string, error) {
	if err := r.lab.Wait(ctx); err != nil {
		return "", err
	}
	before, err := r.status(ctx)
	if err != nil {
		return "", err
	}
	stop := r.knocks(ctx)
	defer stop()
	for n := 1; n <= 5; n++ {
		wait, cancel := context.WithTimeoutCause(ctx, 3*time.Minute, errors.New("not within 3 minutes"))
		_, err := r.lab.Expect(wait, r.node, regexp.MustCompile(fmt.Sprintf(`grove \d+\.\d\d log: mongod's log is put aside, [^\n]* in \S+\.%d; 4 are kept`, n)))
		cancel()
		if err != nil {
			return "", fmt.Errorf("turn %d: %w", n, err)
		}
	}
	stop()
	names, err := r.sh(ctx, "sleep 2; ls /state/mongod/log")
	if err != nil {
		return "", err
	}
	if got, want := strings.Fields(names), "mongod.log mongod.log.2.gz mongod.log.3.gz mongod.log.4.gz mongod.log.5"; strings.Join(got, " ") != want {
		return "", fmt.Errorf("the folder has %q; want %s", got, want)
	}
	after, err := r.status(ctx)
	if err == nil && after.Mongod.PID != before.Mongod.PID {
		err = fmt.Errorf("mongod's pid was %d and is %d", before.Mongod.PID, after.Mongod.PID)
	}
	if err != nil {
		return "", err
	}
	return r.countLines(ctx)
}

// countLines reads all files in their order: the connections that they tell of are numbered, and none is missing between the first and the last.
func (r *rig) countLines(ctx context.Context) (string, error) {
	const all = `cd /state/mongod/log; (for n in 2 3 4; do gzip -d -c mongod.log.$n.gz; done; cat mongod.log.5 mongod.log)`
	total, err := r.sh(ctx, all+" | wc -l")
	if err != nil {
		return "", err
	}
	// 22943 is "Connection accepted" (src/mongo/transport/service_entry_point_impl.cpp).
	text, err := r.sh(ctx, all+` | grep '"id":22943' > /run/accepted; wc -l /run/accepted; head -n 1 /run/accepted; tail -n 1 /run/accepted`)
	if err != nil {
		return "", err
	}
	ids := regexp.MustCompile(`"connectionId":(\d+)`).FindAllStringSubmatch(text, -1)
	n, err := strconv.Atoi(strings.Fields(text)[0])
	if err != nil || len(ids) != 2 {
		return "", fmt.Errorf("count the connections: %q", text)
	}
	first, _ := strconv.Atoi(ids[0][1])
	last, _ := strconv.Atoi(ids[1][1])
	lines, _ := strconv.Atoi(strings.Fields(total)[0])
	if n != last-first+1 || lines < 10000 {
		return "", fmt.Errorf("%d lines with %d connections, from number %d to %d", lines, n, first, last)
	}
	return fmt.Sprintf("%d lines in the five files, connections %d to %d without a gap", lines, first, last), nil
}

// knocks opens one connection after the other, four at once, until stop is called.
func (r *rig) knocks(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				_, _ = r.server().Ping(ctx)
			}
		})
	}
	return func() { cancel(); all.Wait() }
}
