package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"grove/builder/lab/bay"
	"grove/builder/lab/qemu"
)

// Bay is a node's data disks. What is changed in it holds from the next boot on.
func (l *Lab) Bay(node string) (*bay.Bay, error) {
	n, err := l.find(node)
	if err != nil {
		return nil, err
	}
	return n.bay, nil
}

// Medium is the file of the disk that a node boots from: qcow2, over the image.
func (l *Lab) Medium(node string) (string, error) {
	n, err := l.find(node)
	if err != nil {
		return "", err
	}
	return n.machine.Disk, nil
}

// Unplug takes a disk out of a running node, as if it were pulled; the node's kernel is told, and has half a minute to let go of it. It stays out over reboots.
func (l *Lab) Unplug(ctx context.Context, name, disk string) error {
	return l.hot(ctx, name, disk, func(ctx context.Context, n *node, m *qemu.Monitor, d qemu.Disk) error {
		if err := m.Unplug(ctx, d.ID); err != nil {
			return err
		}
		return n.bay.Pull(disk)
	})
}

// Plug puts a disk that is out into a running node.
func (l *Lab) Plug(ctx context.Context, name, disk string) error {
	return l.hot(ctx, name, disk, func(ctx context.Context, n *node, m *qemu.Monitor, d qemu.Disk) error {
		if err := m.Plug(ctx, d); err != nil {
			return err
		}
		return n.bay.Insert(disk)
	})
}

func (l *Lab) hot(ctx context.Context, name, disk string, do func(context.Context, *node, *qemu.Monitor, qemu.Disk) error) error {
	n, err := l.find(name)
	if err != nil {
		return err
	}
	p, err := n.running()
	if err != nil {
		return err
	}
	d, err := n.bay.Machine(disk)
	if err != nil {
		return err
	}
	if !d.Hot() || n.machine.SoC != "" {
		return fmt.Errorf("disk %s of %s: QEMU's %s has no hot plug", disk, name, d.Bus)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("not done within 30 s"))
	defer cancel()
	return do(ctx, n, p.monitor, d)
}
