package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"grove/builder/lab"
	"grove/builder/lab/bay"
	"grove/builder/lab/probe"
	"grove/builder/lab/remote"
	"grove/internal/spec"
)

// rig is one node in a lab of its own, with disks.
type rig struct {
	lab  *lab.Lab
	bay  *bay.Bay
	node string
	swap bool // the recipe has some

	console *ssh.Client // in the place of a serial console without a shell
}

// rig switches a node on, with the layout's own disks if none are given.
func (b *bench) rig(ctx context.Context, l layout, node string, disks []bay.Disk) (*rig, error) {
	image, err := b.of(ctx, l)
	if err != nil {
		return nil, err
	}
	r, err := b.boot(ctx, image, node, disks)
	if err == nil {
		r.swap = strings.Contains(l.yaml, "swap: ")
	}
	return r, err
}

func (b *bench) boot(ctx context.Context, image lab.Image, node string, disks []bay.Disk) (*rig, error) {
	up, err := lab.Up(ctx, lab.Config{Image: image, Nodes: []spec.Personal{{Hostname: node}}, Disks: [][]bay.Disk{disks}, Dir: filepath.Join(b.dir, "lab"), Host: b.host,
		Boot: 4 * time.Minute, Silence: 4 * time.Minute})
	if err != nil {
		return nil, err
	}
	bay, err := up.Bay(node)
	return &rig{lab: up, bay: bay, node: node}, err
}

func (r *rig) close(ctx context.Context) { r.lab.Close(context.WithoutCancel(ctx)) }

// errEmulator says that a check has come to no verdict. QEMU before 8.1 may translate code that another processor is changing, and keep what it read (fixed by its commit "accel/tcg: Always
// lock pages before translation"): the kernel then meets a breakpoint of its own that is long gone, and panics. Early in a boot the lab resets the machine.
var errEmulator = errors.New("the emulator has spoilt the kernel's code")

// blame adds where to look, and keeps a nil error nil.
func (r *rig) blame(err error) error {
	if err == nil {
		return nil
	}
	return blamed(err, filepath.Dir(r.lab.Nodes()[0].Serial))
}

// blamed looks at all serial logs of a lab's folder.
func blamed(err error, dir string) error {
	logs, _ := filepath.Glob(filepath.Join(dir, "*.serial.log"))
	if err == nil || len(logs) == 0 {
		return err
	}
	for _, file := range logs {
		if log, readErr := os.ReadFile(file); readErr == nil && spoiltByEmulator(string(log)) {
			err = fmt.Errorf("%w: %w", errEmulator, err)
		}
	}
	return fmt.Errorf("%w\nserial log: %s", err, logs[0])
}

// spoiltByEmulator looks for the breakpoint in the panic that is the last thing the console has.
func spoiltByEmulator(log string) bool {
	oops, panics := strings.LastIndex(log, "Oops: int3: "), strings.LastIndex(log, "Kernel panic - not syncing")
	return oops >= 0 && panics > oops && !regexp.MustCompile(`grove \d+\.\d\d `).MatchString(log[panics:])
}

func (r *rig) sh(ctx context.Context, command string) (string, error) {
	if r.console == nil {
		return shell(ctx, r.lab, r.node, command)
	}
	out, code, err := remote.Command(ctx, r.console, command)
	if err == nil && code != 0 {
		err = fmt.Errorf("%q on %s: exit code %d: %s", command, r.node, code, out)
	}
	return strings.TrimRight(out, "\n"), err
}

// saidWithin is for a line that must come: a node whose neighbour is being built beside it took a minute for what takes ten seconds on a quiet machine.
const saidWithin = 5 * time.Minute

// says waits for one of the node's lines about its disks, and gives the uptime and the words.
func (r *rig) says(ctx context.Context, pattern string) (uptime float64, words string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, saidWithin, fmt.Errorf("not said within %s", saidWithin))
	defer cancel()
	found, err := r.lab.Expect(ctx, r.node, regexp.MustCompile(`grove (\d+\.\d\d) storage: (`+pattern+`)[^\n]*\n`))
	if err != nil {
		return 0, "", err
	}
	uptime, _ = strconv.ParseFloat(found[1], 64)
	return uptime, strings.TrimSpace(strings.SplitN(found[0], "storage: ", 2)[1]), nil
}

// ready waits until the disks are mounted; what else the agent may settle on is an error.
func (r *rig) ready(ctx context.Context) (uptime float64, err error) {
	uptime, words, err := r.says(ctx, `ready|refused|[^\n]*; it is tried again`)
	if err == nil && !strings.HasPrefix(words, "ready") {
		err = errors.New("storage: " + words)
	}
	return uptime, err
}

// status is the node's own page.
func (r *rig) status(ctx context.Context) (s page, err error) {
	text, err := r.sh(ctx, "cat /run/grove/status.json")
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("status.json: %w: %s", err, text)
	}
	return s, nil
}

// page is what is looked at in status.json.
type page struct {
	Phase    string   `json:"phase"`
	Problems []string `json:"problems"`
	Agent    struct {
		PID     int     `json:"pid"`
		Started float64 `json:"started"`
		RSS     int64   `json:"rss"`
	} `json:"agent"`
	Mongod struct {
		State string `json:"state"`
		PID   int    `json:"pid"`
	} `json:"mongod"`
	Storage struct {
		State  string `json:"state"`
		Arrays []struct {
			Name     string  `json:"name"`
			Degraded bool    `json:"degraded"`
			Since    float64 `json:"since"`
		} `json:"arrays"`
		Refused []refusal `json:"refused"`
		ReadyS  float64   `json:"ready_s"`
		Written []struct {
			Disk    string `json:"disk"`
			Sectors int64  `json:"sectors"`
			AtMount int64  `json:"at_mount"`
		} `json:"written"`
	} `json:"storage"`
}

// refusal is what the node does not touch.
type refusal struct {
	Sentence string   `json:"sentence"`
	Evidence []string `json:"evidence"`
	Command  string   `json:"command"`
}

// again switches the node off in order and on again.
func (r *rig) again(ctx context.Context) error {
	if err := r.lab.PowerOff(ctx, r.node); err != nil {
		return err
	}
	return r.lab.Start(ctx, r.node)
}

// forward is where the node's mongod answers on this machine.
func (r *rig) forward() string { return r.lab.Nodes()[0].Forward }

// server is the node's mongod as this machine asks it; nobody need log in.
func (r *rig) server() probe.Server { return probe.Server{Address: r.forward()} }
