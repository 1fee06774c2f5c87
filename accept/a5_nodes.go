package main

import (
	"bytes"
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

	"grove/builder/artifact"
	"grove/builder/lab"
	"grove/builder/lab/bay"
	"grove/internal/spec"
)

// readSpec is what an image's manifest says of it.
func readSpec(path string) (img spec.Image, err error) {
	a, err := artifact.Open(path)
	if err != nil {
		return img, err
	}
	return img, json.Unmarshal(a.Manifest.Spec, &img)
}

func bayFor(img spec.Image) ([]bay.Disk, error) { return bay.For(img.Storage, img.Swap) }

// onBoard is what each node of the write-up of 2015 must have become.
var onBoard = []sight{
	{"array", `^$`}, {"/data", `^ext4 \S*nosuid,nodev,noexec,noatime`}, {"swaps", `^/dev/sdX1 partition \d+\n`}, {"swaps", `PART_ENTRY_TYPE=0x82\b`}, {"swaps", `TYPE=swap`},
	{"mongod", `(?m)^/data/\S*mongod\.lock$`},
}

// nanos boots the four boards by a firmware, and looks at each. driver is that of their SATA host, if it has to be one.
func nanos(firmware, driver string) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (figure string, err error) {
		l, err := b.boards(ctx, firmware, "cluster1", "cluster2", "cluster3", "cluster4")
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(blamed(err, l.Dir()), keep(l.Dir(), firmware)) }()
		defer l.Close(context.WithoutCancel(ctx))
		if err := l.Wait(ctx); err != nil {
			return "", err
		}
		within, cancel := context.WithTimeout(ctx, 10*time.Minute)
		defer cancel()
		set, err := l.Gather(within)
		if err != nil {
			return "", err
		}
		if l.Nodes()[0].Version != "3.2.12" || len(set.Secondaries) != 3 || set.Voters != 3 {
			return "", fmt.Errorf("the set is %s, of mongod %s", set, l.Nodes()[0].Version)
		}
		figure = set.String()
		for _, n := range l.Nodes() {
			said, err := isABoard(ctx, l, n.Name, driver)
			if err != nil {
				return "", fmt.Errorf("%s: %w", n.Name, err)
			}
			figure += fmt.Sprintf("\n%s: %s; %s", n.Name, n.Times, said)
		}
		return figure, offInOrder(ctx, l)
	}
}

// offInOrder switches all nodes off at once, and wants each to have stopped as it should.
func offInOrder(ctx context.Context, l *lab.Lab) error {
	if err := l.Close(ctx); err != nil {
		return err
	}
	for _, n := range l.Nodes() {
		if err := l.Orderly(n.Name); err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
	}
	return nil
}

// isABoard looks at disks, swap, tuning and status of a node of 32 bits, and tells its memory.
func isABoard(ctx context.Context, l *lab.Lab, node, driver string) (string, error) {
	client, err := l.LogIn(ctx, node, nil)
	if err != nil {
		return "", err
	}
	defer client.Close()
	r := &rig{lab: l, node: node, swap: true, console: client}
	if machine, err := r.sh(ctx, "uname -m"); err != nil || machine != "armv7l" {
		return "", fmt.Errorf("uname -m says %q, %w", machine, err)
	}
	v, err := r.look(ctx)
	if err == nil {
		err = r.holds(ctx, v)
	}
	if err == nil {
		err = v.wants(onBoard)
	}
	if err != nil {
		return "", err
	}
	if hosts, err := r.sh(ctx, "cat /sys/class/scsi_host/*/proc_name"); err != nil || !strings.Contains(hosts, driver) || !strings.Contains(hosts, "usb-storage") {
		return "", fmt.Errorf("the disks' hosts are %q; want %s and usb-storage, %w", hosts, driver, err)
	}
	text, err := r.sh(ctx, "/init tuning --json")
	if err != nil {
		return "", err
	}
	var t tuning
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return "", fmt.Errorf("/init tuning --json: %w: %s", err, text)
	}
	counts, err := r.asPlanned(ctx, t)
	if err != nil {
		return "", err
	}
	s, err := r.status(ctx)
	if err != nil || s.Phase != "serving" || s.Storage.State != "ready" || len(s.Problems) > 0 {
		return "", fmt.Errorf("status: %+v; want it serving without a problem, %w", s, err)
	}
	memory, err := r.sh(ctx, "cat /proc/meminfo")
	if err != nil {
		return "", err
	}
	total, free := kilobytes(memory, "MemTotal"), kilobytes(memory, "MemAvailable")
	return fmt.Sprintf("%s; agent %d MiB, in use %d of %d MiB", counts, s.Agent.RSS>>20, (total-free)>>10, total>>10), nil
}

func kilobytes(meminfo, name string) int64 {
	found := regexp.MustCompile(`(?m)^` + name + `: +(\d+) kB$`).FindStringSubmatch(meminfo)
	if found == nil {
		return 0
	}
	n, _ := strconv.ParseInt(found[1], 10, 64)
	return n
}

// graviton boots the demo of arm64 for another board.
func graviton(ctx context.Context, b *bench) (string, error) {
	text, err := os.ReadFile("recipes/demo-arm64.yaml")
	if err != nil {
		return "", err
	}
	dir := b.folder("m7g")
	file := filepath.Join(dir, "demo-m7g.yaml")
	if err := os.WriteFile(file, bytes.Replace(text, []byte("\nboard: qemu-arm64\n"), []byte("\nboard: m7g\n"), 1), 0o644); err != nil {
		return "", err
	}
	r := b.run(ctx, nil, "lab", "test", file, "--nodes", "1", "--disk", "nvme", "-o", dir)
	return lastLine(r.out), blamed(r.wants(0, "the document is read back", "the power button stops the node in order"), dir)
}
