package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
)

// Forward opens a free port on 127.0.0.1 for a node's port and gives its address. It takes connections at once, whether the node is there or not: one that the
// node refuses is closed.
func (n *Network) Forward(ip string, port uint16) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("open a port for %s:%d: %w", ip, port, err)
	}
	n.ends = append(n.ends, listener)
	n.all.Go(func() {
		for {
			conn, err := listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				n.all.Go(func() { n.carry(conn, ip, port) })
				continue
			}
			select { // out of file descriptors, most likely: give others time to close
			case <-time.After(50 * time.Millisecond):
			case <-n.end:
				return
			}
		}
	})
	return listener.Addr().String(), nil
}

// carry copies both ways until both sides have said their last or the network closes.
func (n *Network) carry(outside net.Conn, ip string, port uint16) {
	defer outside.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	carried := make(chan struct{})
	defer close(carried)
	n.all.Go(func() { // the network's end stops the dialling, or breaks the copying
		select {
		case <-n.end:
			cancel()
			outside.Close()
		case <-carried:
		}
	})
	inside, err := n.Dial(ctx, ip, port)
	if err != nil {
		return
	}
	defer inside.Close()
	var both errgroup.Group
	both.Go(func() error { return copyAll(inside, outside) })
	both.Go(func() error { return copyAll(outside, inside) })
	both.Wait()
}

// copyAll passes the end on as well. When one way breaks, so does the other.
func copyAll(to, from net.Conn) error {
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		from.Close()
		return err
	}
	return to.(interface{ CloseWrite() error }).CloseWrite()
}
