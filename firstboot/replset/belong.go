package replset

import (
	"context"

	"grove/firstboot/replset/join"
	"grove/firstboot/replset/member"
	"grove/firstboot/replset/user"
	"grove/firstboot/status"
)

// belong is for a node whose mongod is in the set: it makes the first users, if that is still to be done, and remembers what it is.
func (s *Site) belong(ctx context.Context, seen seen, act join.Act) error {
	if seen.Local.Set != s.Set.Name {
		return nil
	}
	if !s.Open && !s.users {
		if err := s.ensureUsers(ctx, seen); err != nil {
			return err
		}
	}
	now := memory{Set: s.Set.Name, Host: s.self(), Users: s.users || s.memory.Users, Member: s.memory.Member || act.Kind == join.Settled}
	if now == s.memory {
		return nil
	}
	return s.remember(now)
}

// ensureUsers is the primary's to do; the others see that it is done when the agent can log in. An arbiter has no users.
func (s *Site) ensureUsers(ctx context.Context, seen seen) error {
	if seen.Local.State == join.Arbiter {
		s.users = true
		return nil
	}
	if seen.Local.State == join.Primary {
		if err := user.Ensure(ctx, s.Local, s.Secrets, s.arbiters()); err != nil {
			return err
		}
		s.users = true
		return nil
	}
	if seen.Local.State != join.Secondary {
		return nil
	}
	m, err := s.open(s.Local, s.agent())
	if err != nil {
		return err
	}
	_, err = m.Status(ctx)
	if s.users = err == nil; member.Classify(err) == member.Denied {
		return nil // they are still to come from the primary
	}
	return err
}

func (s *Site) arbiters() bool {
	for _, m := range s.Set.Members {
		if m.Arbiter {
			return true
		}
	}
	return false
}

// alone is a node without a set, whose mongod needs its first user nonetheless.
func (s *Site) alone(ctx context.Context) {
	for !s.memory.Users {
		err := user.Ensure(ctx, s.Local, s.Secrets, false)
		if err == nil {
			err = s.remember(memory{Users: true})
		}
		switch class := member.Classify(err); {
		case err == nil:
			s.Node.Problem("users", "")
			s.Node.Say("mongod has its first user, %s", s.Secrets.Operator.User)
			s.Node.Page(func(p *status.Status) { p.Set.Users = s.Secrets.Key != "" })
			return
		case class == member.Retry:
		case s.Node.Problem("users", err.Error()):
			s.Node.Say("%v", err)
		}
		if !pause(ctx, lookLater) {
			return
		}
	}
	s.Node.Page(func(p *status.Status) { p.Set.Users = s.Secrets.Key != "" })
}
