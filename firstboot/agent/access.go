package agent

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"grove/firstboot/node"
	"grove/firstboot/sshd"
	"grove/firstboot/status"
	"grove/internal/spec"
)

// door is the node's SSH server as the agent keeps it.
type door struct {
	stated chan struct{} // closed once the state was mounted, or could not be
	state  bool          // it was

	mu      sync.Mutex
	keys    []sshd.Key
	refused int         // log-ins
	untold  int         // of them
	told    time.Time   // of the last
	last    sshd.Event  // of them, one with a key before others
	later   *time.Timer // until the untold are told; nil when none are
}

const sshPort = 22

// shellPath is what a person who logs in can call.
const shellPath = "/bbin:/usr/sbin:/usr/bin:/sbin:/bin"

// stateIs is called once, when it was tried to mount the state.
func (a *Agent) stateIs(mounted bool) {
	a.door.state = mounted
	close(a.door.stated)
}

// access opens the node to the operator's keys, if there are any. The rules of the firewall and the host key come first.
func (a *Agent) access(ctx context.Context) {
	s, known := a.settings(ctx)
	if !known {
		return
	}
	a.hangUpLeft()
	var asking sync.WaitGroup
	defer asking.Wait()
	a.keyring(ctx, &asking, s.SSH)
	if len(a.opens()) == 0 {
		if ctx.Err() == nil {
			a.voice.Page(func(s *status.Status) { s.SSH = status.SSH{State: "closed"} })
			a.voice.Say("ssh", "no key is named, so nobody can log in: port %d is closed", sshPort)
		}
		return
	}
	server, ok := a.server(ctx)
	if !ok {
		return
	}
	l, err := a.Listen(sshPort)
	if err != nil {
		a.sshFault(err)
		return
	}
	a.wall.SSH(sshPort)
	a.voice.Page(func(s *status.Status) { s.SSH.State, s.SSH.Port = "open", sshPort })
	a.voice.Say("ssh", "root may log in at port %d with %s; host key %s", sshPort, keyNames(a.opens()), ssh.FingerprintSHA256(server.HostKey.PublicKey()))
	defer a.door.quiet()
	if err := server.Serve(ctx, l); err != nil {
		a.sshFault(err)
	}
}

func (a *Agent) sshFault(err error) {
	a.voice.Problem("ssh", err.Error())
	a.voice.Say("ssh", "%v", err)
}

// hangUpLeft ends what an agent that was killed has left of its sessions, and names it.
func (a *Agent) hangUpLeft() {
	for _, p := range a.Machine.Marked(sshd.Mark) {
		err := a.Machine.HangUp(p)
		a.voice.Say("ssh", "process %d is left of a session of an agent before this one; it is hung up%s", p.PID, because(err))
	}
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// keyring takes the keys of the settings and, on EC2, the instance's. That one is waited for only if there is no other.
func (a *Agent) keyring(ctx context.Context, asking *sync.WaitGroup, s spec.SSH) {
	keys, err := sshd.Read("settings", s.Keys)
	if err != nil { // refused before they come here, but for an image of another version
		a.sshFault(err)
	}
	a.add(keys)
	if !a.naming.ec2 {
		return
	}
	come := make(chan struct{})
	asking.Go(func() {
		defer close(come)
		lines, err := a.instanceKey(ctx)
		keys, bad := sshd.Read("EC2", lines)
		if ctx.Err() == nil && (err != nil || bad != nil) {
			a.voice.Say("ssh", "the instance's key: %v", firstOf(err, bad))
		}
		a.add(keys)
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

func (a *Agent) instanceKey(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, cloudMay)
	defer cancel()
	if err := a.online(ctx); err != nil {
		return nil, fmt.Errorf("no address within %s", cloudMay)
	}
	return node.PublicKey(ctx, a.Wire.Metadata)
}

func (a *Agent) add(keys []sshd.Key) {
	a.door.mu.Lock()
	a.door.keys = append(a.door.keys, keys...)
	a.door.mu.Unlock()
	a.voice.Page(func(s *status.Status) {
		s.SSH.Keys = nil
		for _, k := range a.opens() {
			s.SSH.Keys = append(s.SSH.Keys, status.LoginKey{Fingerprint: k.Fingerprint(), Comment: k.Comment, From: k.From})
		}
	})
}

func (a *Agent) opens() []sshd.Key {
	a.door.mu.Lock()
	defer a.door.mu.Unlock()
	return a.door.keys
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
func (a *Agent) server(ctx context.Context) (s *sshd.Server, ok bool) {
	select {
	case <-a.door.stated:
	case <-ctx.Done():
		return nil, false
	}
	if !a.wall.Stands(ctx) {
		return nil, false
	}
	key, kept, err := a.hostKey()
	if err == nil {
		err = a.Machine.MakeDir(a.Root+"/root", 0o700, 0, 0)
	}
	if err != nil {
		a.sshFault(err)
		return nil, false
	}
	a.voice.Page(func(s *status.Status) {
		s.SSH.HostKey, s.SSH.Fingerprint, s.SSH.Kept = strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey()))), ssh.FingerprintSHA256(key.PublicKey()), kept
	})
	return &sshd.Server{HostKey: key, Keys: a.opens, Talks: a.Machine, Shell: "/bbin/gosh", Home: a.Root + "/root", Tell: a.tellSSH,
		Env: []string{"PATH=" + shellPath, "HOME=/root", "USER=root", "LOGNAME=root", "SHELL=/bbin/gosh"}}, true
}

func (a *Agent) hostKey() (key ssh.Signer, kept bool, err error) {
	if a.door.state {
		if key, _, err = sshd.HostKey(a.Root + stateFolder + "/grove"); err == nil {
			return key, true, nil
		}
		a.sshFault(fmt.Errorf("%w; the node has another one until it restarts", err))
	} else {
		a.voice.Say("ssh", "without a state partition the host key is another one after each restart")
	}
	key, _, err = sshd.HostKey(a.Root + status.Dir)
	return key, false, err
}

// spoken is how often log-ins that were refused are spoken of at the most: somebody who tries many must not drown the console.
const spoken = time.Minute

func (a *Agent) tellSSH(e sshd.Event) {
	switch e.Kind {
	case sshd.LoggedIn:
		a.voice.Say("ssh", "root logged in from %s with %s", e.From, a.nameOf(e.Key))
	case sshd.Ended:
		a.voice.Say("ssh", "root, from %s, is gone", e.From)
	case sshd.Refused:
		a.refusedOne(e)
	}
}

// refusedOne is told at once, or with those that follow when the last was not long ago.
func (a *Agent) refusedOne(e sshd.Event) {
	d := &a.door
	d.mu.Lock()
	d.refused, d.untold = d.refused+1, d.untold+1
	if d.untold == 1 || e.Key != "" || d.last.Key == "" {
		d.last = e // with a key it may be a person's
	}
	rest := spoken - time.Since(d.told)
	if rest > 0 {
		if d.later == nil {
			d.later = time.AfterFunc(rest, a.tellRefused)
		}
		d.mu.Unlock()
		return
	}
	d.mu.Unlock()
	a.tellRefused()
}

func (a *Agent) tellRefused() {
	d := &a.door
	d.mu.Lock()
	all, untold, e := d.refused, d.untold, d.last
	d.untold, d.told, d.later = 0, time.Now(), nil
	d.mu.Unlock()
	if untold == 0 {
		return
	}
	a.voice.Page(func(s *status.Status) { s.SSH.Refused = all })
	if untold > 1 {
		a.voice.Say("ssh", "%d log-ins were refused, one of them from %s: %s", untold, e.From, e.Why)
	} else {
		a.voice.Say("ssh", "a log-in from %s was refused: %s", e.From, e.Why)
	}
}

// quiet ends what would still be told.
func (d *door) quiet() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.later != nil {
		d.later.Stop()
	}
}

func (a *Agent) nameOf(fingerprint string) string {
	for _, k := range a.opens() {
		if k.Fingerprint() == fingerprint {
			return keyNames([]sshd.Key{k})
		}
	}
	return fingerprint
}

// Listen opens a TCP port on all addresses.
func Listen(port int) (net.Listener, error) { return net.Listen("tcp", fmt.Sprintf(":%d", port)) }
