package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"grove/builder/lab/bay"
	"grove/builder/lab/network"
	"grove/builder/lab/qemu"
	"grove/builder/secrets"
	"grove/internal/host"
	"grove/internal/spec"
)

// mongodPort is where a node's mongod listens.
const mongodPort = 27017

// node is one machine over all its boots.
type node struct {
	config  Config
	number  int
	seat    network.Seat
	dir     string
	runtime string
	network *network.Network
	see     func(Event)

	machine  qemu.Machine // without what is in the bay
	bay      *bay.Bay
	console  *qemu.Console
	firmware *qemu.Console // SeaBIOS's debug port
	key      string        // of the lab's operator
	forward  string        // mongod's, on this machine
	ssh      string
	page     string
	logs     []*os.File
	sockets  qemu.Sockets
	watch    sync.WaitGroup // all that runs beside the node

	switching sync.Mutex // held while the node is being switched on

	mu   sync.Mutex
	last *power // nil before the first
	cut  *Cut   // armed, or struck
}

// path is a file of this node in the lab's folder.
func (n *node) path(end string) string { return filepath.Join(n.dir, n.seat.Name+end) }

// prepare makes all that outlives a single boot.
func (n *node) prepare(ctx context.Context) error {
	var err error
	if n.console, err = n.logged(serialLog, n.heard); err != nil {
		return err
	}
	if n.firmware, err = n.logged(".firmware.log", n.heardBelow); err != nil {
		return err
	}
	if n.machine, err = n.describe(); err != nil {
		return err
	}
	if n.sockets, err = n.machine.Listen(); err != nil {
		return err
	}
	n.watch.Go(n.plug)
	if n.forward, err = n.network.Forward(n.seat.IP, mongodPort); err != nil {
		return err
	}
	if err := n.open(); err != nil {
		return err
	}
	if err := n.writePersonal(); err != nil {
		return err
	}
	if n.bay, err = bay.New(n.config.Host, n.dir, n.seat.Name, n.disks()); err != nil {
		return err
	}
	if n.machine.Raw {
		return n.makeCard(ctx)
	}
	return n.makeOverlay(ctx)
}

func (n *node) disks() []bay.Disk {
	if n.number < len(n.config.Disks) {
		return n.config.Disks[n.number]
	}
	return nil
}

func (n *node) socket(end string) string {
	return filepath.Join(n.runtime, fmt.Sprintf("%d.%s", n.number, end))
}

// plug puts the cable of each boot into the switch.
func (n *node) plug() {
	for {
		conn, err := n.sockets.Cable()
		if err != nil {
			return // closed
		}
		n.network.Plug(conn)
	}
}

// serialLog is the end of the name of the console's log.
const serialLog = ".serial.log"

func (n *node) logged(end string, line func(time.Duration, string)) (*qemu.Console, error) {
	log, err := os.Create(n.path(end))
	if err != nil {
		return nil, err
	}
	n.logs = append(n.logs, log)
	return qemu.NewConsole(log, line), nil
}

func (n *node) describe() (qemu.Machine, error) {
	kind := n.config.Image.Lab
	m := qemu.Machine{
		Name: n.seat.Name, Arch: n.config.Image.Arch, Type: kind.Machine, CPU: kind.CPU, CPUs: kind.CPUs, Memory: kind.Memory,
		Bus: n.config.Bus, Disk: n.path(".qcow2"), MAC: n.seat.MAC, Date: at(n.config.Dates, n.number),
		Paths: qemu.Paths{Console: n.socket("con"), Monitor: n.socket("mon"), Network: n.socket("net"), Firmware: n.socket("bios")},
		Blobs: []qemu.Blob{{Name: spec.NodeBlob, File: n.path(".node.yaml")}},
	}
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	switch n.config.Firmware {
	case sunxi, spl:
		return n.config.board(m, n.path(".img")), nil
	case virtUBoot: // its kernel has no fw_cfg: node.yaml goes into the boot partition, as on a board
		var err error
		m.Disk, m.Raw, m.Blobs = n.path(".img"), true, nil
		m.UBoot, err = qemu.FindUBoot(exists)
		return m, err
	case "uefi":
		found, err := qemu.FindUEFI(m.Arch, exists)
		if err != nil {
			return m, err
		}
		m.UEFI, err = found.Own(n.path(".vars.fd"))
		return m, err
	}
	return m, nil
}

func (n *node) writePersonal() error {
	text, err := yaml.Marshal(n.personal())
	if err != nil {
		return fmt.Errorf("BUG: write node.yaml: %w", err)
	}
	return secrets.Private(n.path(".node.yaml"), text)
}

// makeOverlay keeps the image file unwritten: qcow2 holds what differs from it.
func (n *node) makeOverlay(ctx context.Context) error {
	image, err := filepath.Abs(n.config.Image.Path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("not done within 30 s"))
	defer cancel()
	_, err = n.config.Host.Run(ctx, host.Command{Path: "qemu-img", Args: []string{
		"create", "-q", "-f", "qcow2", "-b", image, "-F", "raw", n.machine.Disk, fmt.Sprint(int64(n.config.Image.Lab.Disk)),
	}})
	if err != nil {
		return fmt.Errorf("make the disk over %s: %w", image, err)
	}
	return nil
}

// close ends the last boot, if it still runs. It asks only a node that can hear it.
func (n *node) close(ctx context.Context) error {
	p, err := n.running()
	if err != nil {
		return nil
	}
	if p.boot.Listens() && ctx.Err() == nil {
		err := n.powerOff(ctx)
		if err == nil {
			return nil
		}
		n.tell(time.Since(p.boot.Start), "fault", err.Error())
	}
	return n.end(p)
}

// remove leaves nothing but the logs.
func (n *node) remove() error {
	n.sockets.Close()
	if _, err := n.running(); err != nil { // else QEMU could not be killed
		n.watch.Wait()
	}
	for _, log := range n.logs {
		log.Close()
	}
	var all error
	if n.bay != nil {
		all = n.bay.Remove()
	}
	for _, end := range []string{".qcow2", ".img", ".node.yaml", ".vars.fd"} {
		if err := os.Remove(n.path(end)); err != nil && !errors.Is(err, os.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}
