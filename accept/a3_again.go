package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"grove/builder/lab/bay"
	"grove/internal/size"
)

// a3Again: what a node is like after its agent died many times, and after a power cycle.
func a3Again() []check {
	return []check{
		{name: "a3.5", says: "the agent killed 100 times at random moments under load: mongod untouched, status right each time, no descriptor or memory growth", within: 20 * time.Minute, run: killed,
			notCI: "a hundred restarts; CI runs a1.7"},
		{name: "a3.8", says: "a power cycle ends in the same status, compared field by field", within: 8 * time.Minute, beside: true, run: cycled, notCI: "three boots, one after the other; CI boots a second time in a2.2, a2.4 and a2.6"},
	}
}

const kills = 100

func killed(ctx context.Context, b *bench) (string, error) {
	image, err := b.of(ctx, named("ext4"))
	if err != nil {
		return "", err
	}
	// With one processor: QEMU's emulation lets a second one run code of the kernel that the first is changing, about once in two hundred restarts of the agent. And by SSH, for
	// its serial port, too, forgets what is typed once in so many.
	image.Lab.CPUs = 1
	r, err := b.boot(ctx, image, "db1", []bay.Disk{{Size: 3 * size.GiB}})
	if err != nil {
		return "", err
	}
	defer r.close(ctx)
	if err := r.lab.Wait(ctx); err != nil {
		return "", err
	}
	figure, err := r.killAgents(ctx)
	return figure, r.blame(err)
}

// weight is what a process holds.
type weight struct{ fds, rss int }

func (r *rig) killAgents(ctx context.Context) (string, error) {
	first, err := r.settled(ctx, 0)
	if err != nil {
		return "", err
	}
	stop := r.load(ctx)
	defer stop()
	var before [2]weight
	random := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= kills; n++ {
		select {
		case <-time.After(time.Duration(random.IntN(1500)) * time.Millisecond):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if err := r.killAgent(ctx); err != nil {
			return "", fmt.Errorf("kill %d: %w", n, err)
		}
		p, err := r.settled(ctx, n)
		if err != nil {
			return "", fmt.Errorf("after kill %d: %w", n, err)
		}
		if p.Mongod.PID != first.Mongod.PID || !slices.Equal(p.Problems, first.Problems) {
			return "", fmt.Errorf("after kill %d: mongod's pid was %d and is %d, the problems were %q and are %q", n, first.Mongod.PID, p.Mongod.PID, first.Problems, p.Problems)
		}
		if n == 5 {
			if before, err = r.weights(ctx, p.Agent.PID); err != nil {
				return "", err
			}
		}
	}
	writes, lost := stop()
	if lost != nil {
		return "", fmt.Errorf("a write failed: %w", lost)
	}
	last, err := r.settled(ctx, kills)
	if err != nil {
		return "", err
	}
	after, err := r.weights(ctx, last.Agent.PID)
	if err != nil {
		return "", err
	}
	return r.grownOf(ctx, before, after, writes)
}

// grownOf compares what the agent and PID 1 held after 5 kills and after all: no more than two descriptors and a tenth and 2 MiB of memory more.
func (r *rig) grownOf(ctx context.Context, before, after [2]weight, writes int) (string, error) {
	zombies, err := r.ssh(ctx, `cat /proc/[0-9]*/stat | grep '[)] Z ' | wc -l`)
	if err != nil {
		return "", err
	}
	var told []string
	for n, who := range []string{"agent", "PID 1"} {
		b, a := before[n], after[n]
		told = append(told, fmt.Sprintf("%s: %d descriptors and %.1f MiB after 5, %d and %.1f after %d", who, b.fds, float64(b.rss)/1024, a.fds, float64(a.rss)/1024, kills))
		if a.fds > b.fds+2 || a.rss > b.rss*11/10+2048 {
			return "", fmt.Errorf("%s", told[n])
		}
	}
	if strings.TrimSpace(zombies) != "0" {
		return "", fmt.Errorf("%s zombies", zombies)
	}
	return fmt.Sprintf("%s; no zombie; %d documents written meanwhile", strings.Join(told, "; "), writes), nil
}

// settled waits for the page of the agent that was started so many times again.
func (r *rig) settled(ctx context.Context, restarts int) (p counted, err error) {
	limit, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		_, text, err := site{r.lab.Nodes()[0].Page}.get(ctx, "GET", "/status.json")
		if err != nil {
			return p, err
		}
		p = counted{}
		if err := json.Unmarshal([]byte(text), &p); err == nil && p.Agent.Restarts == restarts && p.Phase == "serving" && p.Storage.State == "ready" {
			return p, nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-limit.Done():
			return p, fmt.Errorf("not serving again within a minute, restarts %d of %d: %s", p.Agent.Restarts, restarts, text)
		}
	}
}

// killAgent ends its own connection with the agent.
func (r *rig) killAgent(ctx context.Context) error {
	client, err := r.enter(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		return err
	}
	var cut *ssh.ExitMissingError
	if err := session.Run("kill -9 $(cat /run/grove/agent.pid)"); !errors.As(err, &cut) {
		return fmt.Errorf("the session ended otherwise than by the agent's end: %w", err)
	}
	return nil
}

// enter logs in once the agent lets it, which is a moment after its page is there.
func (r *rig) enter(ctx context.Context) (*ssh.Client, error) {
	limit, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		client, err := r.lab.LogIn(limit, r.node, nil)
		if err == nil || limit.Err() != nil {
			return client, err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-limit.Done():
		}
	}
}

// ssh runs a command once the agent lets anybody in.
func (r *rig) ssh(ctx context.Context, command string) (string, error) {
	client, err := r.enter(ctx)
	if err != nil {
		return "", err
	}
	client.Close()
	out, code, err := r.lab.SSH(ctx, r.node, command)
	if err == nil && code != 0 {
		err = fmt.Errorf("%q: exit code %d: %s", command, code, out)
	}
	return out, err
}

// counted is page with the number of restarts.
type counted struct {
	Phase    string   `json:"phase"`
	Problems []string `json:"problems"`
	Agent    struct {
		PID      int `json:"pid"`
		Restarts int `json:"restarts"`
	} `json:"agent"`
	Mongod struct {
		PID int `json:"pid"`
	} `json:"mongod"`
	Storage struct {
		State string `json:"state"`
	} `json:"storage"`
}

func (r *rig) weights(ctx context.Context, agent int) (all [2]weight, err error) {
	for n, pid := range []int{agent, 1} {
		text, err := r.ssh(ctx, fmt.Sprintf(`ls /proc/%d/fd | wc -l; grep VmRSS /proc/%d/status`, pid, pid))
		if err != nil {
			return all, err
		}
		f := strings.Fields(text)
		if len(f) < 3 {
			return all, fmt.Errorf("weigh process %d: %q", pid, text)
		}
		all[n].fds, _ = strconv.Atoi(f[0])
		all[n].rss, _ = strconv.Atoi(f[2])
	}
	return all, nil
}

// load writes documents until stop is called, which gives how many there were and the first error.
func (r *rig) load(ctx context.Context) (stop func() (int, error)) {
	running, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	var writes int
	var first error
	done.Go(func() {
		for running.Err() == nil {
			if err := r.server().Write(running, fmt.Sprintf("load %d", writes)); err != nil && running.Err() == nil && first == nil {
				first = err
			}
			writes++
		}
	})
	return func() (int, error) {
		cancel()
		done.Wait()
		return writes, first
	}
}
