package provision

import (
	"fmt"
	"slices"
	"strings"

	"grove/firstboot/facts"
	"grove/firstboot/plan"
	"grove/firstboot/plan/act"
	"grove/firstboot/status"
	"grove/firstboot/storage"
)

// show puts what was seen and decided on the page.
func (s *Site) show(have facts.Have, p plan.Plan) {
	s.Node.Page(func(now *status.Status) {
		st := &now.Storage
		st.Plan, st.Waits, st.Refused, st.Notes, st.Fault = nil, nil, nil, p.Notes, ""
		for _, a := range p.Acts {
			st.Plan = append(st.Plan, a.Name)
		}
		for _, w := range p.Waits {
			st.Waits = append(st.Waits, fmt.Sprintf("%s; %d s more", w.Sentence, w.Left))
		}
		for _, r := range p.Refused {
			st.Refused = append(st.Refused, status.Refusal(r))
		}
		st.Mounts = nil
		for _, m := range have.Mounts {
			if slices.Contains(s.mounted, m.Target) {
				st.Mounts = append(st.Mounts, status.Mount{Device: m.Dev, Target: m.Target, Type: m.Type, Options: m.Options})
			}
		}
		state := "making"
		switch {
		case len(p.Refused) > 0:
			state = "refused"
		case len(p.Waits) > 0:
			state = "waiting"
		case p.Done():
			state = "ready"
		}
		if st.State != state {
			st.State, st.Since = state, s.uptime()
		}
	})
}

// tell puts what becomes of a plan on the console, and on the page what a reader there would miss.
func (s *Site) tell(e storage.Event) {
	switch e.Kind {
	case storage.Planned:
		s.tellPlan("storage", e.Plan)
	case storage.Begins:
		suffix := ""
		if e.Number > 0 {
			suffix = fmt.Sprintf(" (journal %d)", e.Number)
		}
		s.Node.Say("begins: %s%s", e.Act.Name, suffix)
		if e.Act.Kind == act.Mount {
			s.count.mounts(s.Root)
		}
	case storage.Done:
		s.Node.Say("done: %s", e.Act.Name)
		s.Node.Page(func(now *status.Status) {
			now.Storage.Done = append(now.Storage.Done, e.Act.Name)
			if e.Act.Kind == act.Mount {
				now.Storage.Mounts = append(now.Storage.Mounts, status.Mount{Device: e.Act.Dev, Target: e.Act.On, Type: e.Act.Type, Options: strings.Join(e.Act.Options, ",")})
			}
		})
		if e.Act.Kind == act.SwapOn {
			s.showSwaps()
		}
	case storage.Failed:
		sentence := strings.ReplaceAll(e.Err.Error(), "\n", ": ")
		s.Node.Problem("storage", sentence)
		s.Node.Page(func(now *status.Status) {
			if now.Storage.Fault = sentence; now.Mongod.PID == 0 {
				now.Phase = "degraded"
			}
		})
		s.once("failed", sentence, "%s; it is tried again", sentence)
	}
}

func (s *Site) tellPlan(about string, p plan.Plan) {
	var refused, problems, waits []string
	for _, r := range p.Refused {
		line := r.Sentence
		if len(r.Evidence) > 0 {
			line += "; evidence: " + strings.Join(r.Evidence, "; ")
		}
		problems = append(problems, line)
		if r.Command != "" {
			line += "; who knows that it may go types: " + r.Command
		}
		refused = append(refused, line)
	}
	for _, w := range p.Waits {
		waits = append(waits, w.Sentence)
	}
	s.all(about+" refused", "refused: ", refused)
	s.all(about+" waits", "waits for ", waits)
	s.all(about+" notes", "", p.Notes)
	s.Node.Problem(about, strings.Join(slices.Concat(problems, waits), "; "))
	if about == "storage" && len(refused) > 0 {
		s.Node.Page(func(now *status.Status) {
			if now.Mongod.PID == 0 { // else it serves, whatever is wrong with a disk beside
				now.Phase = "degraded"
			}
		})
	}
}

// all says a list of sentences, when it is another than last time.
func (s *Site) all(about, before string, sentences []string) {
	if joined := strings.Join(sentences, "\n"); s.said[about] != joined {
		s.said[about] = joined
		for _, one := range sentences {
			s.Node.Say("%s%s", before, one)
		}
	}
}

func (s *Site) once(about, key, format string, values ...any) {
	if s.said[about] != key {
		s.said[about] = key
		s.Node.Say(format, values...)
	}
}

// ready says what stands.
func (s *Site) ready() {
	took := (s.Machine.Uptime() - s.began).Seconds()
	var stands []string
	s.Node.Page(func(now *status.Status) {
		now.Storage.ReadyS, now.Storage.State, now.Storage.Since, now.Storage.Plan = took, "ready", s.uptime(), nil
		for _, m := range now.Storage.Mounts {
			stands = append(stands, fmt.Sprintf("%s %s on %s", m.Target, m.Type, m.Device))
		}
	})
	s.Node.Say("ready: %s", strings.Join(stands, ", "))
}
