package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"grove/builder/lab/boot"
	"grove/builder/lab/qemu"
	"grove/internal/host"
)

const (
	connectWithin = time.Minute       // QEMU's start to its connections: 15 s were not enough on a crowded machine
	offWithin     = 120 * time.Second // the power button to the machine being off; a node gives mongod as long
	obeyWithin    = 5 * time.Second   // a signal to QEMU's end
)

// power is a node from being switched on to being off.
type power struct {
	boot    *boot.Boot
	process host.Process
	monitor *qemu.Monitor
	printed tail
	exited  chan struct{} // QEMU is gone; exit is set
	exit    error
}

// Start switches a node on again, with the disk as it was left.
func (l *Lab) Start(ctx context.Context, node string) error {
	n, err := l.find(node)
	if err != nil {
		return err
	}
	return n.start(ctx)
}

// PowerOff presses a node's power button and waits until the machine is off, two minutes at most.
func (l *Lab) PowerOff(ctx context.Context, node string) error {
	n, err := l.find(node)
	if err != nil {
		return err
	}
	return n.powerOff(ctx)
}

// Kill cuts a node's power: what the guest had not yet written to its disks is lost. What it had is not, flushed or not: the files are in this machine's page cache.
func (l *Lab) Kill(node string) error {
	n, err := l.find(node)
	if err != nil {
		return err
	}
	p, err := n.running()
	if err != nil {
		return err
	}
	return n.signal(p, os.Kill)
}

// Reset cuts a node's power and switches it on again.
func (l *Lab) Reset(ctx context.Context, node string) error {
	if err := l.Kill(node); err != nil {
		return err
	}
	return l.Start(ctx, node)
}

func (l *Lab) find(name string) (*node, error) {
	for _, n := range l.nodes {
		if n.seat.Name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("the lab has no node %q", name)
}

// current is the last time the node was on; all are switched on before anybody sees the lab.
func (n *node) current() *power {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

func (n *node) running() (*power, error) {
	if p := n.current(); p != nil && !boot.Is(p.boot.Ended()) {
		return p, nil
	}
	return nil, fmt.Errorf("%s is off", n.seat.Name)
}

// start runs QEMU, takes its connections and watches the boot from then on.
func (n *node) start(ctx context.Context) error {
	n.switching.Lock()
	defer n.switching.Unlock()
	if _, err := n.running(); err == nil {
		return fmt.Errorf("%s is on", n.seat.Name)
	}
	p := &power{boot: boot.New(n.config.offBy()), exited: make(chan struct{})}
	// Not ctx: what ends a node is Close, in order, also after Ctrl-C.
	process, err := n.config.Host.Start(context.WithoutCancel(ctx), host.Command{
		Path: n.machine.Program(), Args: n.bay.Equip(n.machine).Args(), Stdout: &p.printed, Stderr: &p.printed,
	})
	if err != nil {
		return fmt.Errorf("switch %s on: %w", n.seat.Name, err)
	}
	p.process = process
	go func() { p.exit = process.Wait(); close(p.exited) }()
	before := n.current()
	said, err := n.connect(ctx, p)
	if err != nil {
		process.Signal(os.Kill)
		<-p.exited
		for _, read := range said {
			<-read
		}
		n.become(before)
		return fmt.Errorf("switch %s on: %w: %s", n.seat.Name, err, strings.TrimSpace(p.printed.String()))
	}
	n.tell(time.Since(p.boot.Start), "power", fmt.Sprintf("on, QEMU is process %d, console log %s", process.PID(), n.path(serialLog)))
	n.watch.Go(func() { n.follow(p, said) })
	n.watch.Go(func() { n.poll(p.boot) })
	n.watch.Go(func() { n.guard(p.boot) })
	return nil
}

// connect takes QEMU's connections. The channels are closed when what they say is read to its end.
func (n *node) connect(ctx context.Context, p *power) (said []<-chan struct{}, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectWithin, fmt.Errorf("QEMU did not connect within %v", connectWithin))
	defer cancel()
	bios := n.machine.BIOS()
	lines, err := n.sockets.Connect(ctx, bios, p.exited)
	if err != nil {
		return nil, err
	}
	p.monitor = lines.Monitor
	n.become(p)
	said = append(said, n.console.Attach(lines.Console, p.boot.Start))
	if bios {
		said = append(said, n.firmware.Attach(lines.Firmware, p.boot.Start))
	}
	return said, p.monitor.Open(ctx)
}

func (n *node) become(p *power) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = p
}

// follow waits for the end, and tells of it before those who wait for it go on.
func (n *node) follow(p *power, said []<-chan struct{}) {
	defer p.boot.End()
	<-p.exited
	for _, read := range said {
		<-read
	}
	reason := p.monitor.Reason()
	fault := p.boot.Finish(reason, p.exit, p.printed.String())
	at := time.Since(p.boot.Start)
	if reason == "" {
		reason = "cut"
	}
	n.tell(at, "power", "off: "+reason)
	if fault != nil {
		n.tell(at, "fault", fault.Error())
	}
}

func (n *node) powerOff(ctx context.Context) error {
	p, err := n.running()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, offWithin, fmt.Errorf("still on after %v", offWithin))
	defer cancel()
	p.boot.Ask()
	if err := n.pressOff(ctx, p); err != nil && !boot.Is(p.boot.Ended()) {
		return fmt.Errorf("power %s off: %w", n.seat.Name, err)
	}
	select {
	case <-p.boot.Ended():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("power %s off: %w", n.seat.Name, context.Cause(ctx))
	}
}

// end stops QEMU itself, which takes SIGINT as it takes SIGTERM.
func (n *node) end(p *power) error {
	if n.signal(p, os.Interrupt) == nil {
		return nil
	}
	return n.signal(p, os.Kill)
}

func (n *node) signal(p *power, s os.Signal) error {
	p.boot.Ask()
	if err := p.process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", n.seat.Name, err)
	}
	select {
	case <-p.boot.Ended():
		return nil
	case <-time.After(obeyWithin):
		return fmt.Errorf("end %s: QEMU, process %d, is still there %v after %q", n.seat.Name, p.process.PID(), obeyWithin, s)
	}
}

// tail keeps the end of what was written to it, 2 KiB.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(len(t.text)-2048, 0):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
