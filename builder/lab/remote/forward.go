package remote

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Forward opens a port on this machine's loopback address that leads to the same port of the node's own, until ctx ends. Pages that a node shows to itself alone are seen so.
func Forward(ctx context.Context, client *ssh.Client, port int) error {
	at := fmt.Sprintf("127.0.0.1:%d", port)
	l, err := net.Listen("tcp", at)
	if err != nil {
		return fmt.Errorf("open a way to port %d of the node: %w", port, err)
	}
	context.AfterFunc(ctx, func() { l.Close() })
	go func() {
		for {
			outside, err := l.Accept()
			if err != nil {
				return // closed
			}
			go carry(ctx, client, outside, at)
		}
	}()
	return nil
}

// carry copies both ways until both sides have said their last.
func carry(ctx context.Context, client *ssh.Client, outside net.Conn, to string) {
	defer outside.Close()
	inside, err := client.DialContext(ctx, "tcp", to)
	if err != nil {
		return // whoever called sees a connection that is closed
	}
	defer inside.Close()
	stop := context.AfterFunc(ctx, func() { inside.Close(); outside.Close() })
	defer stop()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{inside, outside}, {outside, inside}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].(interface{ CloseWrite() error }).CloseWrite()
		})
	}
	both.Wait()
}
