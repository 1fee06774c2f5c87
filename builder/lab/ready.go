package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"grove/builder/lab/boot"
	"grove/builder/lab/probe"
)

// look is how often a node that is not ready is asked.
const look = 100 * time.Millisecond

// poll asks until mongod answers or the machine is off. A knock at the node's port goes before each ping, for the forwarded port takes every connection, and the driver
// would then wait half a second before it tries again.
func (n *node) poll(b *boot.Boot) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { <-b.Ended(); cancel() }()
	for ctx.Err() == nil {
		began := time.Now()
		if n.knock(ctx) {
			if version, err := (probe.Server{Address: n.forward}).Ping(ctx); err == nil {
				n.tell(b.Answer(version).Answer, "ready", fmt.Sprintf("mongod %s answers at %s", version, n.forward))
				return
			}
		}
		select {
		case <-time.After(look - min(time.Since(began), look)):
		case <-ctx.Done():
		}
	}
}

func (n *node) knock(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := n.network.Dial(ctx, n.seat.IP, mongodPort)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// guard gives a boot up that is silent or late.
func (n *node) guard(b *boot.Boot) {
	limit := boot.Limits{Boot: n.config.Boot * time.Duration(len(n.config.Nodes)), Silence: n.config.Silence}
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			if fault := b.Look(n.console.Heard(), limit); fault != nil {
				n.tell(time.Since(b.Start), "fault", fault.Error())
			}
		case <-b.Ready():
			return
		case <-b.Failed():
			return
		case <-b.Ended():
			return
		}
	}
}

// wait ends with mongod's answer or the boot's fault.
func (n *node) wait(ctx context.Context) error {
	b := n.current().boot
	select {
	case <-b.Ready():
		return nil
	case <-b.Failed():
	case <-b.Ended():
	case <-ctx.Done():
		return fmt.Errorf("wait for %s: %w", n.seat.Name, context.Cause(ctx))
	}
	return n.blame(b)
}

// hold ends with ctx or with the machine.
func (n *node) hold(ctx context.Context) error {
	b := n.current().boot
	select {
	case <-ctx.Done():
		return nil
	case <-b.Ended():
		return n.blame(b)
	}
}

// blame is a boot's fault with the node's name and its log.
func (n *node) blame(b *boot.Boot) error {
	fault := b.Facts().Fault
	if fault == nil {
		return fmt.Errorf("%s was switched off", n.seat.Name)
	}
	return fmt.Errorf("%s: %w; see %s", n.seat.Name, fault, n.path(serialLog))
}

// heard is called for every line of the console.
func (n *node) heard(at time.Duration, text string) {
	n.consider(text)
	if p := n.current(); p.boot.Spoilt(text) {
		n.watch.Go(func() { n.beginAnew(p, at) })
	}
	line, ours, fault := n.current().boot.Hear(at, text)
	if ours {
		n.tell(at, line.Topic, line.Text)
	}
	if fault != nil {
		n.tell(at, "fault", fault.Error())
	}
}

// beginAnew presses the reset button. What the kernel still says of it comes at once, the next kernel's first word not within a second.
func (n *node) beginAnew(p *power, at time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), connectWithin)
	defer cancel()
	err := p.monitor.Reset(ctx)
	n.rest(p, 100*time.Millisecond)
	p.boot.Anew()
	n.tell(at, "power", "reset: QEMU let a processor run code of the kernel that another was changing, which no real one does")
	n.rest(p, time.Second)
	if err = errors.Join(err, p.monitor.NoReboot(ctx)); err != nil && !boot.Is(p.boot.Ended()) {
		n.tell(at, "fault", err.Error())
	}
}

// rest waits while the machine is on.
func (n *node) rest(p *power, d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.boot.Ended():
	}
}

// heardBelow is called for every line of the BIOS. It speaks before the console is in use.
func (n *node) heardBelow(at time.Duration, text string) {
	if fault := n.current().boot.HearBelow(text); fault != nil {
		n.tell(at, "fault", fault.Error())
	}
}

func (n *node) tell(at time.Duration, topic, text string) {
	n.see(Event{Node: n.seat.Name, At: at, Topic: topic, Text: text})
}
