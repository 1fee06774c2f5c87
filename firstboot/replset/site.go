// Package replset makes a node a member of its replica set, and keeps it one: it looks at all members, decides (package join), acts, and looks again, as long as the node runs.
//
// A configuration is only ever followed by its next version at the primary, so that of two nodes that act on one look the second does nothing. Every wait has a name on the page.
package replset

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"grove/firstboot/replset/join"
	"grove/firstboot/replset/member"
	"grove/firstboot/replset/user"
	"grove/firstboot/status"
	"grove/internal/spec"
)

// Node is the agent around it.
type Node interface {
	Say(format string, values ...any) // a line on the console, about the set
	Page(change func(*status.Status))
	Status() status.Status
	Problem(about, sentence string) (news bool)
}

// Site is a node on its way into its set. All but Path is needed.
type Site struct {
	Set      spec.ReplicaSet
	Self     string // the node's hostname
	Port     int    // mongod's, the same on all members
	Local    string // where the node reaches its own mongod: 127.0.0.1:27017
	Open     bool   // nobody need log in to mongod
	Secrets  spec.Secrets
	File     string                                 // what the node remembers; empty when there is no state partition to remember it on
	Foreign  func() bool                            // mongod's data were there before Grove began on them
	Own      func() []netip.Addr                    // the node's addresses
	Path     func() string                          // what is wrong with the way to the others, "" if nothing is
	Loopback bool                                   // members may be addresses of the loopback network: all of them run on one machine
	Uptime   func() float64                         // of the node, in seconds
	Halt     func(ctx context.Context, step string) // before and after each act; a test stops here
	Node     Node

	memory  memory
	mu      sync.Mutex
	doors   map[door]*member.Member
	said    string // last
	checked time.Time
	ground  ground
	users   bool
}

type door struct {
	address string
	as      member.As
}

// How often it looks: while it is on its way in, and once all is settled. An initial sync takes minutes, a founding less than a second.
const (
	lookSoon    = 500 * time.Millisecond
	lookLater   = 2 * time.Second
	lookSettled = 10 * time.Second
	groundEvery = 10 * time.Second
)

// Run works until ctx ends.
func (s *Site) Run(ctx context.Context) {
	s.doors = map[door]*member.Member{}
	defer s.shut()
	m, err := s.recall()
	for ; err != nil; m, err = s.recall() {
		s.tell(join.Act{Kind: join.Refuse, Text: err.Error() + "; it may say that there is a set"})
		if !pause(ctx, lookSettled) {
			return
		}
	}
	s.memory = m
	if s.Set.Name == "" {
		s.alone(ctx)
		return
	}
	s.Node.Page(func(p *status.Status) {
		p.Set = status.Set{Name: s.Set.Name, Self: s.self(), State: "looking", Since: s.Uptime()}
	})
	for ctx.Err() == nil {
		if !pause(ctx, s.once(ctx)) {
			return
		}
	}
}

func (s *Site) recall() (memory, error) {
	if s.File == "" {
		return memory{}, nil
	}
	return remembered(s.File)
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (s *Site) self() string { return s.host(s.Self) }

func (s *Site) host(name string) string { return net.JoinHostPort(name, strconv.Itoa(s.Port)) }

// once looks, decides and acts, and gives the time until the next look.
func (s *Site) once(ctx context.Context) time.Duration {
	seen := s.look(ctx)
	if ctx.Err() != nil {
		return 0
	}
	act := join.Decide(seen.View)
	act = s.onFirmGround(ctx, seen.View, act)
	s.halt(ctx, "decided: "+act.Text)
	err := s.do(ctx, seen, act)
	s.halt(ctx, "done: "+act.Text)
	if ctx.Err() != nil {
		return 0
	}
	s.show(seen, act)
	switch {
	case err != nil:
		return s.fault(act, err)
	case act.Kind == join.Found || act.Kind == join.Reconfigure:
		return lookSoon / 5
	case act.Kind == join.Settled && (s.users || s.Open):
		return lookSettled
	case act.Kind == join.Refuse:
		return lookLater
	}
	return lookSoon
}

func (s *Site) halt(ctx context.Context, step string) {
	if s.Halt != nil {
		s.Halt(ctx, step)
	}
}

// onFirmGround has nothing founded or joined before names, addresses, peers and clock are looked at; a node that waits shows them, too.
func (s *Site) onFirmGround(ctx context.Context, v join.View, act join.Act) join.Act {
	if v.Local.Set != "" || v.Local.Silent != "" {
		return act
	}
	if time.Since(s.checked) > groundEvery {
		s.ground, s.checked = s.preflight(ctx, v), time.Now()
		s.Node.Page(func(p *status.Status) { p.Set.Checked = s.ground.checked })
	}
	if begins := act.Kind == join.Found || act.Kind == join.Reconfigure; begins && len(s.ground.faults) > 0 {
		s.checked = time.Time{}
		return join.Act{Kind: join.Refuse, Text: s.ground.faults[0]}
	}
	return act
}

// do acts. What the node remembers is written before the founding: from then on a set may be there.
func (s *Site) do(ctx context.Context, seen seen, act join.Act) error {
	switch act.Kind {
	case join.Found:
		if err := s.remember(memory{Set: s.Set.Name, Host: s.self()}); err != nil {
			return err
		}
		s.halt(ctx, "remembered that it founds")
		local, err := s.open(s.Local, s.system())
		if err != nil {
			return err
		}
		return local.Initiate(ctx, act.Config)
	case join.Reconfigure:
		if seen.Local.Set == "" { // it begins anew, whatever it was before
			if err := s.remember(memory{Set: s.Set.Name, Host: s.self(), Users: s.memory.Users}); err != nil {
				return err
			}
		}
		primary, err := s.open(seen.Primary, s.agent())
		if err != nil {
			return err
		}
		return primary.Reconfig(ctx, act.Config)
	}
	return s.belong(ctx, seen, act)
}

func (s *Site) remember(m memory) error {
	if s.File != "" {
		if err := remember(s.File, m); err != nil {
			return err
		}
	}
	s.memory = m
	return nil
}

func (s *Site) system() member.As { return member.System(string(s.Secrets.Key)) }

func (s *Site) agent() member.As { return user.Agent(s.Secrets.Key) }

// open gives a connection that was used before, if there is one. Where nobody need log in nobody does.
func (s *Site) open(address string, as member.As) (*member.Member, error) {
	if s.Open {
		as = member.As{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := door{address, as}
	if m := s.doors[d]; m != nil {
		return m, nil
	}
	m, err := member.Open(address, as)
	if err == nil {
		s.doors[d] = m
	}
	return m, err
}

func (s *Site) shut() {
	var all sync.WaitGroup
	for _, m := range s.doors {
		all.Go(m.Close)
	}
	all.Wait()
}

// fault tells of what did not work, and when it is tried again. That another node was faster is none.
func (s *Site) fault(act join.Act, err error) time.Duration {
	about := act.Text
	switch class := member.Classify(err); class {
	case member.Done:
		return lookSoon
	case member.Stale, member.Rediscover, member.Retry, member.Busy:
		if sentence := fmt.Sprintf("%s: %v; it is tried again", about, err); class != member.Stale && s.said != sentence {
			s.said = sentence
			s.Node.Say("%s", sentence)
		}
		return lookSoon + rand.N(2*lookSoon) // so that two that are in each other's way get out of it
	}
	if sentence := fmt.Sprintf("%s: %v", about, err); s.Node.Problem("set", sentence) {
		s.said = sentence
		s.Node.Say("%s", sentence)
	}
	return lookSettled
}
