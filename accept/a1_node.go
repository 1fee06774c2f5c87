package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"grove/builder/artifact"
	"grove/builder/lab"
	"grove/builder/lab/trial"
	"grove/internal/spec"
)

// config is a lab of one node of the demo.
func (b *bench) config(ctx context.Context, firmware, bus string) (lab.Config, error) {
	image, err := b.image(ctx)
	if err != nil {
		return lab.Config{}, err
	}
	a, err := artifact.Open(image)
	if err != nil {
		return lab.Config{}, err
	}
	var img spec.Image
	if err := json.Unmarshal(a.Manifest.Spec, &img); err != nil {
		return lab.Config{}, err
	}
	return lab.Config{Image: lab.Image{Name: img.Name, Path: image, Arch: img.Board.Arch, Lab: img.Board.Lab}, Nodes: []spec.Personal{{Hostname: "db1"}}, Firmware: firmware, Bus: bus,
		Dir: filepath.Join(b.dir, "lab"), Host: b.host}, nil
}

// boots boots the image by a firmware from a kind of disk, and compares its hash before and after.
func boots(firmware, bus string) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		c, err := b.config(ctx, firmware, bus)
		if err != nil {
			return "", err
		}
		before, err := sum(c.Image.Path)
		if err != nil {
			return "", err
		}
		v, err := trial.Run(ctx, trial.Config{Config: c})
		if err != nil {
			return "", err
		}
		after, err := sum(c.Image.Path)
		if err != nil {
			return "", err
		}
		if before != after {
			return "", fmt.Errorf("the image was %s and is %s", before, after)
		}
		if !v.Passed {
			return "", fmt.Errorf("%+v; logs in %s", v.Checks, v.Dir)
		}
		return fmt.Sprintf("mongod %s after %s; image %s before and after", v.Nodes[0].Version, v.Nodes[0].Times, after[:16]), nil
	}
}

// console types a command at a node's shell and gives what the pattern's group caught.
func console(ctx context.Context, l *lab.Lab, line, pattern string) (string, error) {
	if err := l.Type("db1", line); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	found, err := l.Expect(ctx, "db1", regexp.MustCompile(pattern))
	if err != nil {
		return "", fmt.Errorf("after typing %q: %w", line, err)
	}
	return found[len(found)-1], nil
}

// status is a number in the node's status.json.
func number(ctx context.Context, l *lab.Lab, of string) (int, error) {
	text, err := console(ctx, l, of, `(?m)^(?:\$ )*=(\d+)\r?\n`)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

const (
	agentPID  = `echo =$(cat /run/grove/agent.pid)`
	mongodPID = `echo =$(pidof mongod)`
)

func node(ctx context.Context, b *bench) (string, error) {
	c, err := b.config(ctx, "bios", "virtio")
	if err != nil {
		return "", err
	}
	l, err := lab.Up(ctx, c)
	if err != nil {
		return "", err
	}
	defer l.Close(context.WithoutCancel(ctx))
	if err := l.Wait(ctx); err != nil {
		return "", err
	}
	var figures []string
	for _, part := range []func(context.Context, *lab.Lab) (string, error){agentMemory, killAgent, killMongod, powerOff} {
		figure, err := part(ctx, l)
		if err != nil {
			return "", errors.Join(err, fmt.Errorf("serial log: %s", l.Nodes()[0].Serial))
		}
		figures = append(figures, figure)
	}
	return strings.Join(figures, "\n"), nil
}

func agentMemory(ctx context.Context, l *lab.Lab) (string, error) {
	kib, err := console(ctx, l, `cat /proc/$(cat /run/grove/agent.pid)/status`, `VmRSS:\s+(\d+) kB`)
	if err != nil {
		return "", err
	}
	n, _ := strconv.Atoi(kib)
	if n > 40*1024 {
		return "", fmt.Errorf("the agent takes %d KiB; want at most 40 MiB", n)
	}
	return fmt.Sprintf("agent RSS %.1f MiB", float64(n)/1024), nil
}

func killAgent(ctx context.Context, l *lab.Lab) (string, error) {
	var slowest float64
	for range 3 {
		before, err := number(ctx, l, mongodPID)
		if err != nil {
			return "", err
		}
		agent, err := number(ctx, l, agentPID)
		if err != nil {
			return "", err
		}
		// uptime before the kill; the new agent's first line carries its own
		up, err := console(ctx, l, fmt.Sprintf("cat /proc/uptime; kill -9 %d", agent), `(?m)^(?:\$ )*(\d+\.\d\d) \d+\.\d\d\r?\n`)
		if err != nil {
			return "", err
		}
		wait, cancel := context.WithTimeout(ctx, 20*time.Second)
		back, err := l.Expect(wait, "db1", regexp.MustCompile(`grove (\d+\.\d\d) mongod: [^\n]*(found|adopt|goes on|still)[^\n]*`))
		cancel()
		if err != nil {
			return "", fmt.Errorf("the agent is not back: %w", err)
		}
		from, _ := strconv.ParseFloat(up, 64)
		to, _ := strconv.ParseFloat(back[1], 64)
		slowest = max(slowest, to-from)
		after, err := number(ctx, l, mongodPID)
		if err != nil {
			return "", err
		}
		now, err := number(ctx, l, agentPID)
		if err != nil {
			return "", err
		}
		if before != after || now == agent {
			return "", fmt.Errorf("mongod's pid was %d and is %d, the agent's was %d and is %d", before, after, agent, now)
		}
	}
	if slowest > 2 {
		return "", fmt.Errorf("the agent was back after %.2f s; want 2 s", slowest)
	}
	return fmt.Sprintf("agent killed 3 times: back after at most %.2f s of the node's time, mongod's pid unchanged", slowest), nil
}

func killMongod(ctx context.Context, l *lab.Lab) (string, error) {
	var waits []string
	for range 3 {
		before, err := number(ctx, l, mongodPID)
		if err != nil {
			return "", err
		}
		wait, err := console(ctx, l, fmt.Sprintf("kill -9 %d", before), `grove \d+\.\d\d mongod: [^\n]*in (\d+) ?s[^\n]*`)
		if err != nil {
			return "", err
		}
		again, cancel := context.WithTimeout(ctx, 60*time.Second)
		_, err = l.Expect(again, "db1", regexp.MustCompile(`grove \d+\.\d\d mongod: 6\.0\.5 answers on [^\n]*`))
		cancel()
		if err != nil {
			return "", fmt.Errorf("mongod is not back: %w", err)
		}
		after, err := number(ctx, l, mongodPID)
		if err != nil || after == before {
			return "", fmt.Errorf("mongod's pid was %d and is %d: %w", before, after, err)
		}
		waits = append(waits, wait)
	}
	if waits[0] == waits[2] {
		return "", fmt.Errorf("no back-off: the waits are %s s", strings.Join(waits, ", "))
	}
	return "mongod killed 3 times: restarted after " + strings.Join(waits, ", ") + " s", nil
}

// powerOff presses the button, starts the node again and reads mongod's log from inside.
func powerOff(ctx context.Context, l *lab.Lab) (string, error) {
	start := time.Now()
	if err := l.PowerOff(ctx, "db1"); err != nil {
		return "", err
	}
	took := time.Since(start)
	if err := l.Orderly("db1"); err != nil {
		return "", err
	}
	if err := l.Start(ctx, "db1"); err != nil {
		return "", err
	}
	if err := l.Wait(ctx); err != nil {
		return "", err
	}
	// 20565 is mongod's "Now exiting", 23138 "Shutting down" with its exit code (src/mongo/db/mongod_main.cpp): the last words before this start's 4615611 or 23285.
	last, err := console(ctx, l, `grep '"id":(23138|4615611)' /state/mongod/log/mongod.log | tail -n 2; echo =done`, `(?s)"id":23138[^\n]*"exitCode":(\d+)[^\n]*\n[^\n]*"id":4615611`)
	if err != nil {
		return "", fmt.Errorf("mongod's log does not end in a clean shutdown: %w", err)
	}
	if last != "0" {
		return "", fmt.Errorf("mongod's exit code is %s", last)
	}
	return fmt.Sprintf("power-off in %.1f s, mongod's log ends in a shutdown with exit code 0", took.Seconds()), nil
}
