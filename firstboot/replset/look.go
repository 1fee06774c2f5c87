package replset

import (
	"context"
	"slices"
	"sync"
	"time"

	"grove/firstboot/replset/join"
	"grove/firstboot/replset/member"
	"grove/internal/setconf"
)

// seen is one look at all members.
type seen struct {
	join.View
	status member.Status // of the set, as the primary has it, or the node's own mongod
}

// look asks the node's own mongod first. The others are asked as long as the node is not a member for good; then only the primary is.
func (s *Site) look(ctx context.Context) (v seen) {
	v.Want, v.Port, v.Self = s.Set, s.Port, s.Self
	v.Memory = join.Memory{Set: s.memory.Set, Host: s.memory.Host, Joined: s.memory.Member}
	var leaders []string
	v.Local, leaders = s.ask(ctx, s.Local)
	if v.Local.Fresh && s.Foreign() {
		v.Local.Data = "from before"
	}
	if v.Local.Set != s.Set.Name || !s.memory.Member {
		var more []string
		v.Peers, more = s.askPeers(ctx)
		leaders = append(leaders, more...)
	}
	if v.Local.Set == s.Set.Name {
		s.askState(ctx, &v)
	}
	if v.Local.State == join.Primary {
		leaders = []string{s.self()}
	}
	if v.Local.State == join.Primary && !s.users && !s.Open {
		v.Why = "its first users are to be made" // nobody can log in before
		return v
	}
	s.askPrimary(ctx, &v, leaders)
	return v
}

func (s *Site) askPeers(ctx context.Context) (map[string]join.Mongod, []string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	peers := map[string]join.Mongod{}
	var leaders []string
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, m := range s.Set.Members {
		if m.Host == s.Self {
			continue
		}
		all.Go(func() {
			p, more := s.ask(ctx, s.host(m.Host))
			mu.Lock()
			defer mu.Unlock()
			peers[m.Host], leaders = p, append(leaders, more...)
		})
	}
	all.Wait()
	return peers, leaders
}

// ask is for one mongod. One that says it is in no set has to prove it. leaders are the primaries that it knows of.
func (s *Site) ask(ctx context.Context, address string) (p join.Mongod, leaders []string) {
	m, err := s.open(address, member.As{})
	if err != nil {
		return join.Mongod{Silent: err.Error()}, nil
	}
	h, err := m.Hello(ctx)
	if err != nil {
		return join.Mongod{Silent: member.Reason(err)}, nil
	}
	switch {
	case h.Standalone():
		return join.Mongod{Unproven: "its mongod was started for no set"}, nil
	case h.Set == "":
		return s.prove(ctx, address), nil
	}
	p.Set, p.State = h.Set, "not ready"
	switch {
	case h.Primary:
		p.State = join.Primary
	case h.Secondary:
		p.State = join.Secondary
	case h.Arbiter:
		p.State = join.Arbiter
	}
	if h.Leader != "" && h.Set == s.Set.Name {
		leaders = []string{h.Leader}
	}
	return p, leaders
}

func (s *Site) prove(ctx context.Context, address string) join.Mongod {
	m, err := s.open(address, s.system())
	if err != nil {
		return join.Mongod{Unproven: err.Error()}
	}
	switch set, err := m.Proof(ctx); {
	case member.Classify(err) == member.Denied:
		return join.Mongod{Unproven: "it does not take this node's secrets.key, so the two differ"}
	case err != nil:
		return join.Mongod{Unproven: member.Reason(err)}
	case set == "":
		return join.Mongod{Fresh: true}
	default:
		if _, err := m.Status(ctx); member.Classify(err) == member.Out {
			return join.Mongod{Set: set, State: join.Removed}
		}
		return join.Mongod{Unproven: "it has a configuration of " + set + ", and has not taken it up yet"}
	}
}

// askState asks the node's own mongod, as a member, for what hello does not tell.
func (s *Site) askState(ctx context.Context, v *seen) {
	m, err := s.open(s.Local, s.system())
	if err != nil {
		return
	}
	st, err := m.Status(ctx)
	switch {
	case member.Classify(err) == member.Denied:
		v.Local.Unproven = "it does not take this node's secrets.key"
	case err == nil && v.Local.State != join.Removed:
		v.Local.State, v.status = join.State(st.Name()), st
		if p := st.Progress(); p != "" {
			v.Local.Progress = ", " + p
		}
	}
}

// askPrimary reads the configuration at the first that is primary indeed: a member that was cut off may name one that is no more.
func (s *Site) askPrimary(ctx context.Context, v *seen, leaders []string) {
	slices.Sort(leaders)
	v.Why = "none is known"
	for _, address := range slices.Compact(leaders) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		c, st, why := s.primary(ctx, address)
		cancel()
		if why != "" {
			v.Why = address + ": " + why
			continue
		}
		v.Primary, v.Config, v.status, v.States, v.Why = address, &c, st, map[string]join.State{}, ""
		for _, m := range st.Members {
			v.States[m.Name] = join.State(m.State)
		}
		return
	}
}

func (s *Site) primary(ctx context.Context, address string) (c setconf.Config, st member.Status, why string) {
	m, err := s.open(address, s.agent())
	if err != nil {
		return c, st, err.Error()
	}
	if st, err = m.Status(ctx); err == nil && st.State != 1 {
		return c, st, "it is primary no more"
	}
	if err == nil {
		c, err = m.Config(ctx)
	}
	switch {
	case err == nil:
		return c, st, ""
	case member.Classify(err) == member.Denied:
		return c, st, "the agents cannot log in there: its first users are not made yet, or it has another secrets.key"
	}
	return c, st, member.Reason(err)
}

// behind is how many seconds a member is after the primary, -1 when that is not known.
func behind(st member.Status, host string) float64 {
	var newest, at time.Time
	for _, m := range st.Members {
		if m.State == string(join.Primary) {
			newest = m.At
		}
		if m.Name == host {
			at = m.At
		}
	}
	if newest.IsZero() || at.Unix() <= 0 {
		return -1
	}
	return max(newest.Sub(at).Seconds(), 0)
}
