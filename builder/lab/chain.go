package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/ssh"

	"grove/builder/lab/network"
	"grove/builder/lab/qemu"
	"grove/builder/lab/remote"
	"grove/builder/uboot"
	"grove/internal/host"
	"grove/internal/size"
	"grove/internal/spec"
)

// An Allwinner board starts in one of three ways in QEMU, none of which has all of it.
//
//	u-boot  the image as it is on QEMU's virt, whose own U-Boot reads its extlinux.conf; every disk, no boot ROM
//	sunxi   the chain of boot ROM, SPL, U-Boot and kernel from an SD card, on the board that lab.chain names; that board's U-Boot takes the place of the image's in the card's copy
//	spl     the same, and the image's own U-Boot is left where it is: it says its banner, sets the memory up, and ends at what the processor does not know
const (
	sunxi = "sunxi"
	spl   = "spl"
)

func (c Config) onSoC() bool { return c.Firmware == sunxi || c.Firmware == spl }

// program is the QEMU that is needed.
func (c Config) program() string {
	if c.onSoC() {
		return filepath.Join(c.Chain, "bin", qemu.Program(c.Image.Arch))
	}
	return qemu.Program(c.Image.Arch)
}

// setup is the script that installs it.
func (c Config) setup() string {
	if c.onSoC() {
		return "scripts/fetch-chain"
	}
	return "scripts/setup-host"
}

// offBy is QEMU's word for a node's end: a board here has no power chip to switch itself off by, so it restarts, which ends QEMU.
func (c Config) offBy() string {
	if c.onSoC() {
		return "guest-reset"
	}
	return "guest-shutdown"
}

// board is the machine that lab.chain names.
func (c Config) board(m qemu.Machine, card string) qemu.Machine {
	m.SoC, m.Type, m.CPU, m.CPUs, m.Disk, m.Raw, m.Blobs = c.program(), c.Image.Lab.Chain.Machine, "", 0, card, true, nil
	return m
}

// pressOff asks a node to end: by its power button, or where it has none as its operator does.
func (n *node) pressOff(ctx context.Context, p *power) error {
	if !n.config.onSoC() {
		return p.monitor.PowerButton(ctx)
	}
	conn, err := n.network.Dial(ctx, n.seat.IP, sshPort)
	if err != nil {
		return err
	}
	client, err := remote.Dial(ctx, conn, n.dir, n.seat.Name, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	out, code, err := remote.Command(ctx, client, "reboot")
	var gone *ssh.ExitMissingError // a node that stops at once answers no more
	switch {
	case errors.As(err, &gone), errors.Is(err, io.EOF):
		return nil
	case err == nil && code != 0:
		return fmt.Errorf("reboot: exit code %d: %s", code, out)
	}
	return err
}

// unnamed gives a node of a board its address: its Ethernet has a MAC address of chance, by which DHCP does not know it.
func (n *node) unnamed(net spec.Network) spec.Network {
	if !n.config.onSoC() || len(net.Interfaces) > 0 {
		return net
	}
	net.Interfaces = []spec.Interface{{Name: "eth0", Address: n.seat.IP + "/24", Gateway: network.Gateway}}
	if len(net.DNS) == 0 {
		net.DNS = []string{network.Gateway}
	}
	if len(net.NTP) == 0 {
		net.NTP = []string{network.Gateway}
	}
	return net
}

// bootAt is where the boot partition of a board's image starts, in bytes.
const bootAt = 4 << 20

// makeCard copies the image as one writes it to a card: sparse, as large as the card, with node.yaml in its boot partition.
func (n *node) makeCard(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("not done within 60 s"))
	defer cancel()
	card := n.machine.Disk
	for _, c := range []host.Command{
		{Path: "cp", Args: []string{"--sparse=always", n.config.Image.Path, card}},
		{Path: "mcopy", Args: []string{"-o", "-i", fmt.Sprintf("%s@@%d", card, bootAt), n.path(".node.yaml"), "::" + spec.NodeFile}},
	} {
		if _, err := n.config.Host.Run(ctx, c); err != nil {
			return fmt.Errorf("make the card of %s: %w", n.config.Image.Path, err)
		}
	}
	if n.config.Firmware == sunxi {
		if err := n.config.swapUBoot(card); err != nil {
			return err
		}
	}
	return os.Truncate(card, int64(n.config.capacity()))
}

// capacity of a card. QEMU's SD cards are powers of two.
func (c Config) capacity() size.Size {
	if !c.onSoC() {
		return c.Image.Lab.Disk
	}
	capacity := size.MiB
	for capacity < c.Image.Lab.Disk {
		capacity *= 2
	}
	return capacity
}

// swapUBoot puts the U-Boot of lab.chain's board into a card.
func (c Config) swapUBoot(card string) error {
	file := filepath.Join(c.Chain, "u-boot", c.Image.Lab.Chain.UBoot, uboot.Binary)
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("find the U-Boot of lab.chain: %w; run scripts/fetch-chain", err)
	}
	if most := bootAt - int(uboot.Place); len(text) > most {
		return fmt.Errorf("%s has %d bytes, and %d fit before the boot partition", file, len(text), most)
	}
	f, err := os.OpenFile(card, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, int64(uboot.Place))
	return errors.Join(err, f.Close())
}
