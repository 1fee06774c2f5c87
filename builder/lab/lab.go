// Package lab boots an image, N times over, in QEMU on this machine: a private network with DHCP and names, mongod forwarded to 127.0.0.1, the serial
// console at hand, power and reset buttons. No root and no KVM.
//
// The image file is only read: each node writes to an overlay of its own, as large as the board's disk, which is deleted at the end. The image boots by its own boot
// loader, from SeaBIOS or OVMF. Data disks are files of the lab's folder, blank or filled beforehand. What cannot be had here: Xen, EC2 and its instance metadata, real NICs and RAID cards.
//
// Folders: Config.Dir/IMAGE-*/ holds NODE.serial.log (each line with the seconds since QEMU's start), NODE.firmware.log and, of Test, junit.xml, and stays.
// Sockets, overlays, data disks and other copies lie beside or under the temporary folder and are removed by Close.
package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"grove/builder/lab/bay"
	"grove/builder/lab/network"
	"grove/builder/lab/remote"
	"grove/internal/host"
	"grove/internal/spec"
)

// Image is the artifact: a raw disk image and the machine that stands for its board.
type Image struct {
	Name string
	Path string
	Arch spec.Arch // amd64
	Lab  spec.Lab

	Page    int               // port of the status page; the default's
	Storage bool              // the node makes something of data disks before it starts mongod
	Set     spec.ReplicaSet   // that its nodes are for; none
	Hosts   map[string]string // addresses that the image knows names by; none
	Open    bool              // nobody need log in to mongod
}

// Config is what to boot. What is left zero has the default named here.
type Config struct {
	Image    Image
	Nodes    []spec.Personal // one node each, by hostname; given to the node as its node.yaml
	Firmware string          // bios or uefi; of 32-bit ARM u-boot, sunxi or spl (see chain.go); the first that the architecture has
	Chain    string          // folder of what scripts/fetch-chain fetched, for sunxi and spl
	Bus      string          // of the disk that they boot from: virtio or nvme; virtio
	Disks    [][]bay.Disk    // beside it, of each node; none
	Names    []string        // of the nodes, in the lab and at its name server; their hostnames
	Dates    []string        // that the nodes' hardware clocks show at power-on: 1970-01-01, or with a time 2026-05-01T12:00:00; this machine's
	NoKey    bool            // the nodes are not told of the lab's key
	Network  network.Offers  // what they find on it; all is well
	Dir      string          // where the lab makes its folder; made if missing
	Boot     time.Duration   // longest time to mongod's answer, times the number of nodes; 120 s
	Silence  time.Duration   // longest time without a word on the console before that; 60 s, of a board's chain 3 min
	Host     host.Host       // the machine
	See      func(Event)     // called from several goroutines, one at a time; nil: nobody looks
}

// Event is something that happened to a node. Topic is the console line's (init, network, mongod, ...), or one of the lab's own: power, ready, fault.
type Event struct {
	Node  string        `json:"node"`
	At    time.Duration `json:"at"` // since QEMU's start
	Topic string        `json:"topic"`
	Text  string        `json:"text"`
}

// Lab is a set of nodes and their network. Its methods may be called from any goroutine.
type Lab struct {
	config  Config
	dir     string // kept
	runtime string // sockets, removed; its path is short
	network *network.Network
	nodes   []*node
	login   spec.Operator // of the nodes' mongod, where one is needed
	close   sync.Once
	closed  error
}

// Up switches all nodes on and does not wait for them. When it fails nothing is left running. The nodes outlive ctx: Close ends them.
func Up(ctx context.Context, c Config) (*Lab, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	l := &Lab{config: c}
	if err := l.up(ctx); err != nil {
		err = errors.Join(fmt.Errorf("bring the lab up: %w", err), l.Close(context.WithoutCancel(ctx)))
		if !l.everOn() && l.dir != "" {
			err = errors.Join(err, os.RemoveAll(l.dir)) // empty logs
		}
		return nil, err
	}
	return l, nil
}

func (l *Lab) up(ctx context.Context) error {
	if err := l.makeFolders(); err != nil {
		return err
	}
	if err := l.together(); err != nil {
		return err
	}
	var seats []network.Seat
	for i, p := range l.config.Nodes {
		seats = append(seats, network.At(i, or(at(l.config.Names, i), p.Hostname)))
	}
	var err error
	if l.network, err = network.New(seats, l.config.Network); err != nil {
		return err
	}
	key, err := remote.NewKey(l.dir)
	if err != nil {
		return fmt.Errorf("make the lab's key: %w", err)
	}
	see := l.oneByOne()
	for i, seat := range seats {
		n := &node{config: l.config, number: i, seat: seat, dir: l.dir, runtime: l.runtime, network: l.network, key: key, see: see}
		l.nodes = append(l.nodes, n)
		if err := n.prepare(ctx); err != nil {
			return fmt.Errorf("prepare %s: %w", seat.Name, err)
		}
	}
	for _, n := range l.nodes {
		if err := n.start(ctx); err != nil {
			return err
		}
	}
	return l.announce()
}

func (l *Lab) makeFolders() (err error) {
	if err = os.MkdirAll(l.config.Dir, 0o755); err != nil {
		return err
	}
	if l.dir, err = os.MkdirTemp(l.config.Dir, l.config.Image.Name+"-"); err != nil {
		return err
	}
	if l.dir, err = filepath.Abs(l.dir); err != nil {
		return err
	}
	if err = os.Chmod(l.dir, 0o755); err != nil {
		return err
	}
	l.runtime, err = os.MkdirTemp("", "grove-lab-")
	return err
}

func (l *Lab) everOn() bool {
	return slices.ContainsFunc(l.nodes, func(n *node) bool { return n.current() != nil })
}

// at is the text at a place, "" beyond the end.
func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// oneByOne keeps the caller's See from being entered twice at once.
func (l *Lab) oneByOne() func(Event) {
	var turn sync.Mutex
	return func(e Event) {
		if l.config.See == nil {
			return
		}
		turn.Lock()
		defer turn.Unlock()
		l.config.See(e)
	}
}

// Dir is the lab's folder with the serial logs.
func (l *Lab) Dir() string { return l.dir }

// Wait returns when mongod answers on every node, or at the first fault of one.
func (l *Lab) Wait(ctx context.Context) error {
	return l.each(ctx, func(ctx context.Context, n *node) error { return n.wait(ctx) })
}

// Hold waits until ctx ends, which is no error, or until a node ends by itself.
func (l *Lab) Hold(ctx context.Context) error {
	return l.each(ctx, func(ctx context.Context, n *node) error { return n.hold(ctx) })
}

// each does one thing on all nodes side by side; the first error ends the others.
func (l *Lab) each(ctx context.Context, do func(context.Context, *node) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for _, n := range l.nodes {
		all.Go(func() {
			if err := do(ctx, n); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// Close powers the nodes off, last first, ends those that do not obey, and removes all but the logs. When ctx ends it asks no longer. After Ctrl-C it wants
// a context that is not the cancelled one.
func (l *Lab) Close(ctx context.Context) error {
	l.close.Do(func() {
		for i := len(l.nodes) - 1; i >= 0; i-- {
			l.closed = errors.Join(l.closed, l.nodes[i].close(ctx))
		}
		if l.network != nil {
			l.network.Close()
		}
		for _, n := range l.nodes {
			l.closed = errors.Join(l.closed, n.remove())
		}
		if l.dir != "" {
			l.closed = errors.Join(l.closed, remote.Remove(l.dir))
		}
		if l.runtime != "" {
			l.closed = errors.Join(l.closed, os.RemoveAll(l.runtime))
		}
	})
	return l.closed
}
