// Package sshd is a node's SSH server: a root shell, commands, and ways to the node's own loopback address, for whoever has one of the operator's keys.
//
// It is made of golang.org/x/crypto/ssh. There are no passwords and no user but root; no forwarding of agents, of X11, to other machines or from the node; no sftp. Programs
// are run as children of the agent and are hung up when the connection, or the agent, ends. (github.com/gliderlabs/ssh was tried: it answers a request to forward the agent with
// yes, rewrites what a terminal prints, and a window that changes unread blocks its session.)
package sshd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"grove/internal/host"
)

// Server is what one listens with. Keys is asked at each log-in, from any goroutine, as is Tell.
type Server struct {
	HostKey ssh.Signer
	Keys    func() []Key
	Talks   host.Talks
	Shell   string   // started alone, or with -c and a command
	Env     []string // of programs
	Home    string   // where they start
	Tell    func(Event)
}

// Event is what somebody at the door did.
type Event struct {
	Kind Kind
	From string // address and port
	Key  string // fingerprint
	Why  string // Refused
}

// Kind of an event.
type Kind string

// The kinds. Ended follows LoggedIn.
const (
	LoggedIn Kind = "logged in"
	Refused  Kind = "refused"
	Ended    Kind = "ended"
)

// Bounds, as OpenSSH has them by default or closer: a node has few operators and little memory.
const (
	grace       = 30 * time.Second // to log in
	authTries   = 6
	mostKnocks  = 10 // at a time that have not logged in yet
	mostInside  = 20 // connections
	mostAtOnce  = 16 // sessions and forwards of one connection
	askedAlive  = 15 * time.Second
	answersThen = 30 * time.Second // else the client is gone
)

// Serve takes connections until ctx ends, and returns when all that ran for them has ended or was ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	var all sync.WaitGroup
	defer all.Wait()
	defer l.Close()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	knocking, inside := make(chan struct{}, mostKnocks), make(chan struct{}, mostInside)
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("take SSH connections: %w", err)
		case err != nil: // out of file descriptors, most likely
			pause(ctx, 100*time.Millisecond)
			continue
		}
		if !enter(knocking) {
			s.Tell(Event{Kind: Refused, From: conn.RemoteAddr().String(), Why: fmt.Sprintf("%d others are logging in", mostKnocks)})
			conn.Close()
			continue
		}
		all.Go(func() { s.serve(ctx, conn, func() { <-knocking }, inside) })
	}
}

func enter(room chan struct{}) bool {
	select {
	case room <- struct{}{}:
		return true
	default:
		return false
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// serve sees to one connection, from the greeting to the end.
func (s *Server) serve(ctx context.Context, raw net.Conn, knocked func(), inside chan struct{}) {
	defer raw.Close()
	from := raw.RemoteAddr().String()
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	_ = raw.SetDeadline(time.Now().Add(grace))
	conn, channels, requests, err := ssh.NewServerConn(raw, s.config())
	knocked()
	if err == nil && !enter(inside) {
		err = fmt.Errorf("%d connections are open", mostInside)
	}
	if errors.Is(err, io.EOF) {
		return // a knock: whoever it was has not tried to log in
	}
	if err != nil {
		why, key := reason(err)
		s.Tell(Event{Kind: Refused, From: from, Why: why, Key: key})
		return
	}
	defer func() { <-inside }()
	_ = raw.SetDeadline(time.Time{})
	key := conn.Permissions.Extensions[fingerprint]
	s.Tell(Event{Kind: LoggedIn, From: from, Key: key})
	defer s.Tell(Event{Kind: Ended, From: from, Key: key})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { ssh.DiscardRequests(requests) }) // with no for an answer
	all.Go(func() { keepAlive(ctx, conn, askedAlive, answersThen) })
	s.channels(ctx, conn, channels)
	cancel()
	conn.Close()
}

// fingerprint is the name under which a connection knows the key that it was opened with.
const fingerprint = "fingerprint"

// config offers public keys and nothing else.
func (s *Server) config() *ssh.ServerConfig {
	c := &ssh.ServerConfig{ServerVersion: "SSH-2.0-Grove", MaxAuthTries: authTries, PublicKeyCallback: s.knows}
	c.AddHostKey(s.HostKey)
	return c
}

func (s *Server) knows(who ssh.ConnMetadata, offered ssh.PublicKey) (*ssh.Permissions, error) {
	if who.User() != "root" {
		return nil, fmt.Errorf("there is no user %.40q, only root", who.User())
	}
	for _, key := range s.Keys() {
		if bytes.Equal(key.Public.Marshal(), offered.Marshal()) {
			return &ssh.Permissions{Extensions: map[string]string{fingerprint: key.Fingerprint()}}, nil
		}
	}
	return nil, stranger(ssh.FingerprintSHA256(offered))
}

// stranger is the fingerprint of a key that does not open.
type stranger string

func (s stranger) Error() string {
	return fmt.Sprintf("the key %s is not one of the operator's", string(s))
}

// reason is why a log-in was refused, and with which key: of all attempts the last. That a client begins without a key is how clients ask what there is.
func reason(err error) (why, key string) {
	var auth *ssh.ServerAuthError
	if !errors.As(err, &auth) {
		return err.Error(), ""
	}
	why = "no key was offered"
	for _, one := range auth.Errors {
		if errors.Is(one, ssh.ErrNoAuth) {
			continue
		}
		var other stranger
		if errors.As(one, &other) {
			key = string(other)
		}
		why = one.Error()
	}
	return why, key
}

// keepAlive ends a connection whose client is gone without a word.
func keepAlive(ctx context.Context, conn ssh.Conn, every, patience time.Duration) {
	for pause(ctx, every); ctx.Err() == nil; pause(ctx, every) {
		late := time.AfterFunc(patience, func() { conn.Close() })
		_, _, err := conn.SendRequest("keepalive@openssh.com", true, nil)
		if late.Stop(); err != nil {
			return
		}
	}
}

// channels opens what the client asks for, until the connection ends.
func (s *Server) channels(ctx context.Context, conn ssh.Conn, asked <-chan ssh.NewChannel) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	open := make(chan struct{}, mostAtOnce)
	for channel := range asked {
		serve := map[string]func(context.Context, ssh.Conn, ssh.NewChannel){"session": s.session, "direct-tcpip": forward}[channel.ChannelType()]
		switch {
		case serve == nil:
			_ = channel.Reject(ssh.UnknownChannelType, "a node has sessions and ways to its loopback address only")
		case !enter(open):
			_ = channel.Reject(ssh.ResourceShortage, fmt.Sprintf("%d are open", mostAtOnce))
		default:
			all.Go(func() {
				defer func() { <-open }()
				serve(ctx, conn, channel)
			})
		}
	}
}
