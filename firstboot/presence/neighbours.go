package presence

import (
	"context"
	"time"

	"grove/firstboot/neighbours"
)

// Times of asking the neighbours: soon after something has changed, and now and then, more often while something is wrong.
const (
	askAfter = 3 * time.Second
	askEvery = 5 * time.Minute
	askAgain = time.Minute
)

// Ask finds out what only others know: whether another machine has this node's name, and whether packets as large as this node's get through.
func (s *Site) Ask(ctx context.Context) {
	for {
		every := askEvery
		if self, has := s.self(); has && s.tellNeighbours(ctx, self) {
			every = askAgain
		}
		select {
		case <-time.After(every):
		case <-s.news:
			select {
			case <-time.After(askAfter):
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// tellNeighbours says whether something is wrong.
func (s *Site) tellNeighbours(ctx context.Context, self neighbours.Self) (wrong bool) {
	name, mtu := s.Neighbours.Shared(ctx, self), s.Neighbours.TooLarge(ctx, self)
	if ctx.Err() != nil {
		return false
	}
	for about, sentence := range map[string]string{"hostname": name, "mtu": mtu} {
		if s.Voice.Problem("neighbours "+about, sentence) && sentence != "" {
			s.Voice.Say("network", "%s", sentence)
		}
		wrong = wrong || sentence != ""
	}
	return wrong
}

func (s *Site) self() (neighbours.Self, bool) {
	s.naming.mu.Lock()
	defer s.naming.mu.Unlock()
	return s.naming.self(s.Root)
}
