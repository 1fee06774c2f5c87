package qemu

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// longest is the longest path of a unix socket: sun_path of sockaddr_un is 108 bytes with its final zero.
const longest = 107

// Sockets are what one machine's QEMU connects to, one boot after the other: the monitor, the console, the network card, and the BIOS's debug port.
type Sockets struct{ monitor, console, network, firmware *net.UnixListener }

// Paths is where the four lie.
type Paths struct{ Monitor, Console, Network, Firmware string }

// Listen opens the sockets of m.
func (p Paths) Listen() (s Sockets, err error) {
	for path, to := range map[string]**net.UnixListener{p.Monitor: &s.monitor, p.Console: &s.console, p.Network: &s.network, p.Firmware: &s.firmware} {
		if len(path) > longest {
			err = fmt.Errorf("socket %s: its path has %d bytes, want at most %d; set TMPDIR to a shorter folder", path, len(path), longest)
		} else {
			*to, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		}
		if err != nil {
			s.Close()
			return Sockets{}, err
		}
	}
	return s, nil
}

// Close also removes the files.
func (s Sockets) Close() {
	for _, l := range []*net.UnixListener{s.monitor, s.console, s.network, s.firmware} {
		if l != nil {
			l.Close()
		}
	}
}

// Cable waits for the network card of a QEMU, until Close.
func (s Sockets) Cable() (net.Conn, error) { return s.network.Accept() }

// Lines are the connections of one running QEMU. Firmware is nil unless it has a BIOS.
//
// Console and Firmware have to be read from before Monitor.Open: the BIOS's debug port is written a byte at a time, of which a unix socket holds about 280
// unread ones, and a QEMU that waits for room there answers nobody.
type Lines struct {
	Monitor           *Monitor
	Console, Firmware net.Conn
}

// Connect takes what a QEMU connects when it starts; exited is closed when it ends instead.
func (s Sockets) Connect(ctx context.Context, bios bool, exited <-chan struct{}) (l Lines, err error) {
	monitor, err := accept(ctx, s.monitor, exited)
	if err != nil {
		return l, err
	}
	l.Monitor = newMonitor(monitor)
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.Console, err = accept(ctx, s.console, exited); err != nil {
		return l, err
	}
	if bios {
		if l.Firmware, err = accept(ctx, s.firmware, exited); err != nil {
			return l, err
		}
	}
	return l, nil
}

func (l Lines) close() {
	l.Monitor.conn.Close()
	for _, c := range []net.Conn{l.Console, l.Firmware} {
		if c != nil {
			c.Close()
		}
	}
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
