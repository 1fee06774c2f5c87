package sight

import (
	"context"
	"net/url"

	"grove/firstboot/push"
	"grove/internal/spec"
)

// Push sends the metrics elsewhere, if the settings say so.
func (s *Site) Push(ctx context.Context, want spec.Metrics) {
	if want.Push == "" {
		return
	}
	to := hostOf(want.Push)
	p, err := push.New(push.Config{URL: want.Push, Proxy: want.Proxy, Gather: s.figures, Now: s.Machine.Now, Tell: func(e push.Event) { s.tellPush(to, e) },
		Labels: func() map[string]string { return map[string]string{"job": "grove", "instance": s.Voice.Copy().Node} },
		Ready:  func() bool { now := s.Voice.Copy(); return now.Node != "" && !now.Clock.Guessed }})
	if err != nil {
		if s.Voice.Problem("metrics", err.Error()) {
			s.Voice.Say("node", "%v", err)
		}
		return
	}
	s.pusher.Store(p)
	p.Run(ctx)
}

// hostOf leaves out the rest of an address, which may hold a secret.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that is none"
	}
	return u.Host
}

func (s *Site) tellPush(to string, e push.Event) {
	switch e.Kind {
	case push.Taken:
		s.Voice.Problem("metrics", "")
		s.Voice.Say("metrics", "%s takes them, each minute", to)
	case push.Failing:
		s.Voice.Problem("metrics", "to "+to+": "+e.Why+"; they wait, and it is tried again")
		s.Voice.Say("metrics", "to %s: %s; they wait, and it is tried again", to, e.Why)
	case push.Refused:
		s.Voice.Problem("metrics", to+" refuses them: "+e.Why+"; what is refused is lost")
		s.Voice.Say("metrics", "%s refuses them: %s; what is refused is lost", to, e.Why)
	case push.Overflow:
		s.Voice.Say("metrics", "there is no more room for those that wait for %s; the oldest are lost", to)
	}
}

// pushed counts samples by what became of them; nil when none are sent.
func (s *Site) pushed() map[string]float64 {
	if p := s.pusher.Load(); p != nil {
		return p.Counts()
	}
	return nil
}
