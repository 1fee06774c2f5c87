package lab

import (
	"context"
	"fmt"
	"net"
	"regexp"

	"grove/builder/lab/boot"
)

// Status is a node as it is now.
type Status struct {
	Name    string     `json:"name"`
	State   string     `json:"state"`             // off, booting, ready or failed
	PID     int        `json:"pid"`               // of its QEMU
	Address string     `json:"address"`           // in the lab's network
	Forward string     `json:"forward"`           // mongod's, on this machine
	SSH     string     `json:"ssh"`               // its port 22, on this machine
	Page    string     `json:"page"`              // its status page's
	Version string     `json:"version"`           // mongod's, once it answers
	Serial  string     `json:"serial"`            // the console's log
	Storage string     `json:"storage,omitempty"` // what the node said last of its data disks
	Times   boot.Times `json:"times"`             // of the last boot
	Fault   string     `json:"fault,omitempty"`
}

// Firmware and Bus are what the nodes boot from.
func (l *Lab) Firmware() string { return l.config.Firmware }
func (l *Lab) Bus() string      { return l.config.Bus }

// Nodes lists them in the order of the configuration.
func (l *Lab) Nodes() []Status {
	var all []Status
	for _, n := range l.nodes {
		all = append(all, n.status())
	}
	return all
}

func (n *node) status() Status {
	p := n.current()
	b := p.boot
	facts := b.Facts()
	s := Status{
		Name: n.seat.Name, State: "booting", PID: p.process.PID(), Forward: n.forward, SSH: n.ssh, Page: n.page, Version: facts.Version, Serial: n.path(serialLog), Times: facts.Times,
		Address: net.JoinHostPort(n.seat.IP, fmt.Sprint(mongodPort)),
	}
	for _, line := range facts.Lines {
		if line.Topic == "storage" {
			s.Storage = line.Text
		}
	}
	switch {
	case facts.Fault != nil:
		s.State, s.Fault = "failed", facts.Fault.Error()
	case boot.Is(b.Ended()):
		s.State = "off"
	case boot.Is(b.Ready()):
		s.State = "ready"
	}
	return s
}

// Orderly is nil when a node's last boot ended as it should: the node said on its console that it stops, and switched the machine off itself.
func (l *Lab) Orderly(node string) error {
	n, err := l.find(node)
	if err != nil {
		return err
	}
	return n.current().boot.Orderly()
}

// Type sends a line to a node's console, as its keyboard would.
func (l *Lab) Type(node, line string) error {
	n, err := l.find(node)
	if err != nil {
		return err
	}
	if _, err := n.running(); err != nil {
		return err
	}
	return n.console.Type(line)
}

// Expect waits until the pattern is found in what a node's console said since the last match, and gives the match and its groups. ctx needs an end.
func (l *Lab) Expect(ctx context.Context, node string, pattern *regexp.Regexp) ([]string, error) {
	n, err := l.find(node)
	if err != nil {
		return nil, err
	}
	found, err := n.console.Expect(ctx, pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", node, err)
	}
	return found, nil
}
