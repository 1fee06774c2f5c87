package sshd

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// forward is a way to a port of the node's own loopback address (RFC 4254, 7.2), where the page for the data is. A node is no way to other machines.
func forward(ctx context.Context, _ ssh.Conn, asked ssh.NewChannel) {
	var p struct {
		Host   string
		Port   uint32
		Origin string
		At     uint32
	}
	if ssh.Unmarshal(asked.ExtraData(), &p) != nil || p.Port > 65535 || !loopback(p.Host) {
		_ = asked.Reject(ssh.Prohibited, "a node forwards to its loopback address only")
		return
	}
	dialer := net.Dialer{Timeout: 5 * time.Second}
	inside, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(p.Host, strconv.Itoa(int(p.Port))))
	if err != nil {
		_ = asked.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer inside.Close()
	outside, requests, err := asked.Accept()
	if err != nil {
		return
	}
	defer outside.Close()
	go ssh.DiscardRequests(requests)
	stop := context.AfterFunc(ctx, func() { inside.Close(); outside.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(inside, outside)
		_ = inside.(*net.TCPConn).CloseWrite()
	})
	both.Go(func() {
		_, err := io.Copy(outside, inside)
		if _ = outside.CloseWrite(); err != nil {
			outside.Close()
		}
	})
	both.Wait()
}

// loopback says so of an address, and of the one name that every machine has for it.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}
