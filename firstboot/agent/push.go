package agent

import (
	"context"
	"net/url"

	"grove/firstboot/push"
)

// push sends the metrics elsewhere, if the settings say so.
func (a *Agent) push(ctx context.Context) {
	s, known := a.settings(ctx)
	if !known || s.Metrics.Push == "" {
		return
	}
	to := hostOf(s.Metrics.Push)
	p, err := push.New(push.Config{URL: s.Metrics.Push, Proxy: s.Metrics.Proxy, Gather: a.figures, Now: a.Machine.Now, Tell: func(e push.Event) { a.tellPush(to, e) },
		Labels: func() map[string]string { return map[string]string{"job": "grove", "instance": a.voice.Copy().Node} },
		Ready:  func() bool { now := a.voice.Copy(); return now.Node != "" && !now.Clock.Guessed }})
	if err != nil {
		if a.voice.Problem("metrics", err.Error()) {
			a.voice.Say("node", "%v", err)
		}
		return
	}
	a.pusher.Store(p)
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

func (a *Agent) tellPush(to string, e push.Event) {
	switch e.Kind {
	case push.Taken:
		a.voice.Problem("metrics", "")
		a.voice.Say("metrics", "%s takes them, each minute", to)
	case push.Failing:
		a.voice.Problem("metrics", "to "+to+": "+e.Why+"; they wait, and it is tried again")
		a.voice.Say("metrics", "to %s: %s; they wait, and it is tried again", to, e.Why)
	case push.Refused:
		a.voice.Problem("metrics", to+" refuses them: "+e.Why+"; what is refused is lost")
		a.voice.Say("metrics", "%s refuses them: %s; what is refused is lost", to, e.Why)
	case push.Overflow:
		a.voice.Say("metrics", "there is no more room for those that wait for %s; the oldest are lost", to)
	}
}

// pushed counts samples by what became of them; nil when none are sent.
func (a *Agent) pushed() map[string]float64 {
	if p := a.pusher.Load(); p != nil {
		return p.Counts()
	}
	return nil
}
