package access

import (
	"time"

	"grove/firstboot/sshd"
	"grove/firstboot/status"
)

// spoken is how often log-ins that were refused are spoken of at the most: somebody who tries many must not drown the console.
const spoken = time.Minute

// refusedOne is told at once, or with those that follow when the last was not long ago.
func (s *Site) refusedOne(e sshd.Event) {
	s.mu.Lock()
	s.refused, s.untold = s.refused+1, s.untold+1
	if s.untold == 1 || e.Key != "" || s.last.Key == "" {
		s.last = e // with a key it may be a person's
	}
	rest := spoken - time.Since(s.told)
	if rest > 0 {
		if s.later == nil {
			s.later = time.AfterFunc(rest, s.tellRefused)
		}
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.tellRefused()
}

func (s *Site) tellRefused() {
	s.mu.Lock()
	all, untold, e := s.refused, s.untold, s.last
	s.untold, s.told, s.later = 0, time.Now(), nil
	s.mu.Unlock()
	if untold == 0 {
		return
	}
	s.Node.Page(func(now *status.Status) { now.SSH.Refused = all })
	if untold > 1 {
		s.Node.Say("%d log-ins were refused, one of them from %s: %s", untold, e.From, e.Why)
	} else {
		s.Node.Say("a log-in from %s was refused: %s", e.From, e.Why)
	}
}

// quiet ends what would still be told.
func (s *Site) quiet() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.later != nil {
		s.later.Stop()
	}
}
