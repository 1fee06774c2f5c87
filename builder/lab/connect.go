package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"grove/builder/lab/qemu"
)

// socketPath is the longest path of a unix socket: sun_path of sockaddr_un is 108 bytes with its final zero.
const socketPath = 107

// sockets are what a node's QEMU connects to, one boot after the other.
type sockets struct{ firmware, console, monitor, network *net.UnixListener }

func (s *sockets) all() map[string]**net.UnixListener {
	return map[string]**net.UnixListener{"bios": &s.firmware, "con": &s.console, "mon": &s.monitor, "net": &s.network}
}

func (n *node) socket(end string) string {
	return filepath.Join(n.runtime, fmt.Sprintf("%d.%s", n.number, end))
}

// listen opens the sockets, and plugs in whatever comes to the network's.
func (n *node) listen() error {
	for end, to := range n.sockets.all() {
		path := n.socket(end)
		if len(path) > socketPath {
			return fmt.Errorf("socket %s: its path has %d bytes, want at most %d; set TMPDIR to a shorter folder", path, len(path), socketPath)
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			return err
		}
		*to = l
	}
	n.watch.Go(func() {
		for {
			conn, err := n.sockets.network.Accept()
			if err != nil {
				return // closed
			}
			n.network.Plug(conn)
		}
	})
	return nil
}

// connect takes the console, the monitor and, of a BIOS, its debug port. The channels are closed when all is read to its end.
func (n *node) connect(ctx context.Context, p *power) (said []<-chan struct{}, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connectWithin, fmt.Errorf("QEMU did not connect within %v", connectWithin))
	defer cancel()
	var conns []net.Conn
	defer func() {
		for _, c := range conns {
			if err != nil {
				c.Close()
			}
		}
	}()
	wanted := []*net.UnixListener{n.sockets.console, n.sockets.monitor}
	if n.machine.UEFI == nil {
		wanted = append(wanted, n.sockets.firmware)
	}
	for _, l := range wanted {
		conn, err := accept(ctx, l, p.exited)
		if err != nil {
			return nil, err
		}
		conns = append(conns, conn)
	}
	if p.monitor, err = qemu.OpenMonitor(ctx, conns[1]); err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.last = p
	n.mu.Unlock()
	said = append(said, n.console.Attach(conns[0], p.boot.Start))
	if n.machine.UEFI == nil {
		said = append(said, n.firmware.Attach(conns[2], p.boot.Start))
	}
	return said, nil
}

// accept waits for a connection, ctx's end or that of QEMU.
func accept(ctx context.Context, l *net.UnixListener, exited <-chan struct{}) (net.Conn, error) {
	if err := l.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	accepted, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
		case <-exited:
		case <-accepted:
			return
		}
		l.SetDeadline(time.Unix(1, 0))
	}()
	conn, err := l.Accept()
	close(accepted)
	<-watched // so that no deadline comes after the next call's
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errors.New("QEMU ended")
	}
	return nil, err
}
