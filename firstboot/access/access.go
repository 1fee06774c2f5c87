// Package access opens a node to its operator by SSH: to the keys of the settings and, on EC2, to the instance's. Without any key the port stays closed.
//
// The rules of the firewall and the host key come first. What an agent that was killed has left of its sessions is hung up. Log-ins that were refused are told, but do not
// drown the console.
package access

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"grove/firstboot/sshd"
	"grove/firstboot/status"
	"grove/internal/host"
	"grove/internal/spec"
)

// Node is the agent around it.
type Node interface {
	Say(format string, values ...any) // a line on the console, about SSH
	Page(change func(*status.Status))
	Problem(about, sentence string) (news bool)
}

// Wall is the firewall as access needs it.
type Wall interface {
	Stands(ctx context.Context) bool // waits for rules; false with ctx
	SSH(port int)                    // opens it
}

// Site is one node's door. Root stands before every path, empty but in tests.
type Site struct {
	Machine  host.Machine
	Root     string
	Listen   func(port int) (net.Listener, error)
	Instance func(context.Context) ([]string, error)     // the keys that the cloud has for the machine; nil where there is no cloud
	State    func(context.Context) (mounted, known bool) // waits until it was tried to mount the state partition; not known with ctx
	Wall     Wall
	Node     Node

	mu      sync.Mutex
	keys    []sshd.Key
	refused int         // log-ins
	untold  int         // of them
	told    time.Time   // of the last
	last    sshd.Event  // of them, one with a key before others
	later   *time.Timer // until the untold are told; nil when none are
}

const port = 22

// folder of the state partition, where the host key is kept.
const folder = "/state/grove"

// shellPath is what a person who logs in can call.
const shellPath = "/bbin:/usr/sbin:/usr/bin:/sbin:/bin"

// Open is the door until ctx ends, if there is a key.
func (s *Site) Open(ctx context.Context, set spec.SSH) {
	s.hangUpLeft()
	var asking sync.WaitGroup
	defer asking.Wait()
	s.keyring(ctx, &asking, set)
	if len(s.opens()) == 0 {
		if ctx.Err() == nil {
			s.Node.Page(func(now *status.Status) { now.SSH = status.SSH{State: "closed"} })
			s.Node.Say("no key is named, so nobody can log in: port %d is closed", port)
		}
		return
	}
	server, ok := s.server(ctx)
	if !ok {
		return
	}
	l, err := s.Listen(port)
	if err != nil {
		s.fault(err)
		return
	}
	s.Wall.SSH(port)
	s.Node.Page(func(now *status.Status) { now.SSH.State, now.SSH.Port = "open", port })
	s.Node.Say("root may log in at port %d with %s; host key %s", port, keyNames(s.opens()), ssh.FingerprintSHA256(server.HostKey.PublicKey()))
	defer s.quiet()
	if err := server.Serve(ctx, l); err != nil {
		s.fault(err)
	}
}

func (s *Site) fault(err error) {
	s.Node.Problem("ssh", err.Error())
	s.Node.Say("%v", err)
}

// hangUpLeft ends what an agent that was killed has left of its sessions, and names it.
func (s *Site) hangUpLeft() {
	for _, p := range s.Machine.Marked(sshd.Mark) {
		err := s.Machine.HangUp(p)
		s.Node.Say("process %d is left of a session of an agent before this one; it is hung up%s", p.PID, because(err))
	}
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// keyring takes the keys of the settings and, on EC2, the instance's. That one is waited for only if there is no other.
func (s *Site) keyring(ctx context.Context, asking *sync.WaitGroup, set spec.SSH) {
	keys, err := sshd.Read("settings", set.Keys)
	if err != nil { // refused before they come here, but for an image of another version
		s.fault(err)
	}
	s.add(keys)
	if s.Instance == nil {
		return
	}
	come := make(chan struct{})
	asking.Go(func() {
		defer close(come)
		lines, err := s.Instance(ctx)
		keys, bad := sshd.Read("EC2", lines)
		if ctx.Err() == nil && (err != nil || bad != nil) {
			s.Node.Say("the instance's key: %v", firstOf(err, bad))
		}
		s.add(keys)
	})
	if len(keys) == 0 {
		<-come
	}
}

func firstOf(one, other error) error {
	if one != nil {
		return one
	}
	return other
}

func (s *Site) add(keys []sshd.Key) {
	s.mu.Lock()
	s.keys = append(s.keys, keys...)
	s.mu.Unlock()
	s.Node.Page(func(now *status.Status) {
		now.SSH.Keys = nil
		for _, k := range s.opens() {
			now.SSH.Keys = append(now.SSH.Keys, status.LoginKey{Fingerprint: k.Fingerprint(), Comment: k.Comment, From: k.From})
		}
	})
}

func (s *Site) opens() []sshd.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys
}

func keyNames(keys []sshd.Key) string {
	var names []string
	for _, k := range keys {
		name := k.Fingerprint()
		if k.Comment != "" {
			name += " (" + k.Comment + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// server waits for the firewall and the state, and has the host key. Without a state the key is of this boot only, which the operator's next log-in will find odd.
func (s *Site) server(ctx context.Context) (server *sshd.Server, ok bool) {
	mounted, known := s.State(ctx)
	if !known || !s.Wall.Stands(ctx) {
		return nil, false
	}
	key, kept, err := s.hostKey(mounted)
	if err == nil {
		err = s.Machine.MakeDir(s.Root+"/root", 0o700, 0, 0)
	}
	if err != nil {
		s.fault(err)
		return nil, false
	}
	s.Node.Page(func(now *status.Status) {
		now.SSH.HostKey, now.SSH.Fingerprint, now.SSH.Kept = strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey()))), ssh.FingerprintSHA256(key.PublicKey()), kept
	})
	return &sshd.Server{HostKey: key, Keys: s.opens, Talks: s.Machine, Shell: "/bbin/gosh", Home: s.Root + "/root", Tell: s.tell,
		Env: []string{"PATH=" + shellPath, "HOME=/root", "USER=root", "LOGNAME=root", "SHELL=/bbin/gosh"}}, true
}

func (s *Site) hostKey(mounted bool) (key ssh.Signer, kept bool, err error) {
	if mounted {
		if key, _, err = sshd.HostKey(s.Root + folder); err == nil {
			return key, true, nil
		}
		s.fault(fmt.Errorf("%w; the node has another one until it restarts", err))
	} else {
		s.Node.Say("without a state partition the host key is another one after each restart")
	}
	key, _, err = sshd.HostKey(s.Root + status.Dir)
	return key, false, err
}

func (s *Site) tell(e sshd.Event) {
	switch e.Kind {
	case sshd.LoggedIn:
		s.Node.Say("root logged in from %s with %s", e.From, s.nameOf(e.Key))
	case sshd.Ended:
		s.Node.Say("root, from %s, is gone", e.From)
	case sshd.Refused:
		s.refusedOne(e)
	}
}

func (s *Site) nameOf(fingerprint string) string {
	for _, k := range s.opens() {
		if k.Fingerprint() == fingerprint {
			return keyNames([]sshd.Key{k})
		}
	}
	return fingerprint
}
