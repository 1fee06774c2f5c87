package replset

import (
	"strings"

	"grove/firstboot/replset/join"
	"grove/firstboot/status"
	"grove/internal/setconf"
)

// words for the page, of what is done.
var doing = map[join.Kind]string{join.Wait: "waiting", join.Refuse: "refused", join.Found: "founding", join.Reconfigure: "joining", join.Settled: "member"}

// show puts what was seen and decided on the page, and what is new on the console. What only a person can mend is a problem.
func (s *Site) show(v seen, act join.Act) {
	s.tell(act)
	s.Node.Page(func(p *status.Status) {
		now := &p.Set
		if state := doing[act.Kind]; state != now.State {
			now.State, now.Since = state, s.Uptime()
		}
		now.Text, now.Primary, now.Users = act.Text, v.Primary, s.users || s.Open
		if now.Role = ""; v.Local.Set != "" {
			now.Role = strings.ToLower(string(v.Local.State))
		}
		if v.Config == nil {
			return
		}
		now.Voters, now.Members = v.Config.Voters(), nil
		now.Drift = setconf.Drift(*v.Config, setconf.Wanted(s.Set, s.Port))
		for _, m := range v.Config.Members() {
			one := status.SetMember{Host: m.Host, State: "unreachable", Votes: m.Votes, Priority: m.Priority, Lag: behind(v.status, m.Host)}
			for _, seen := range v.status.Members {
				if seen.Name == m.Host && seen.Health == 1 {
					one.State = strings.ToLower(seen.State)
				}
			}
			now.Members = append(now.Members, one)
		}
	})
}

func (s *Site) tell(act join.Act) {
	problem := ""
	if act.Kind == join.Refuse {
		problem = act.Text
	}
	s.Node.Problem("set", problem)
	if sentence := string(act.Kind) + ": " + act.Text; sentence != s.said {
		s.said = sentence
		s.Node.Say("%s", strings.TrimPrefix(sentence, string(join.Settled)+": "))
	}
}
