package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"grove/firstboot/facts"
	"grove/firstboot/journal"
	"grove/firstboot/plan"
	"grove/firstboot/plan/act"
	"grove/firstboot/plan/identity"
	"grove/firstboot/plan/swap"
	"grove/firstboot/status"
	"grove/firstboot/storage"
)

// Files of storage: the journal on the state partition, and what a person has asked for, a device a line.
const (
	journalFolder = stateFolder + "/grove/journal"
	rebuildFile   = status.Dir + "/rebuild"
)

// site is the agent's part in storage: who the node is to its disks, and what it has seen of them.
type site struct {
	agent   *Agent
	hands   storage.Hands
	modules *storage.Modules
	journal storage.Journal // nil without a state partition
	began   time.Duration   // uptime at the first look
	said    map[string]string
	written map[string]int64 // to each disk when the agent came, sectors
	picks   []facts.Disk     // of the last look
	done    bool             // nothing was left to do then
}

// newSite begins with what the medium keeps of earlier boots. state says whether it is mounted.
func (a *Agent) newSite(state bool) error {
	s := &site{agent: a, began: a.Machine.Uptime(), said: map[string]string{}, modules: &storage.Modules{Host: a.Machine, Root: a.Root}, written: sectors(a.Root)}
	s.hands = storage.Hands{Host: a.Machine, Root: a.Root, Modules: s.modules.Load, Looks: s.look, Probes: s.probe}
	if state {
		j, err := journal.Read(a.Root + journalFolder)
		if err != nil {
			return err
		}
		s.journal = j
	}
	a.site = s
	return nil
}

// bring works until the data is mounted. It ends without that only with ctx: what is refused is looked at again, for a person may see to it.
func (s *site) bring(ctx context.Context) error {
	s.agent.named(ctx)
	go func() { _ = s.modules.Load(storage.Wanted(s.agent.image.Storage)...) }() // who needs one and does not get it says so
	if err := s.run().Bring(ctx); err != nil {
		return err
	}
	s.ready()
	return nil
}

func (s *site) run() *storage.Run {
	return &storage.Run{Machine: s.hands, Journal: s.journal, Want: s.want, Decide: s.decide, Uptime: s.agent.Machine.Uptime, Tell: s.tell}
}

func (s *site) want() plan.Want {
	a := s.agent
	return plan.Want{Identity: s.identity(), Storage: a.image.Storage, Swap: a.image.Swap, Recording: s.journal != nil, Swapfile: storage.Swapfile(a.Root + swap.File),
		Waited: int((a.Machine.Uptime() - s.began).Seconds()), Add: words(a.Root + rebuildFile)}
}

// identity is that of the first name that the node got since it started; the disks have only one.
func (s *site) identity() identity.Identity {
	name, certain := s.agent.firstName()
	return plan.Whose(identity.Identity{Cluster: s.agent.image.Cluster, Node: name}, certain, s.records())
}

func (s *site) records() []journal.Record {
	if s.journal == nil {
		return nil
	}
	return s.journal.All()
}

func (s *site) look(ctx context.Context, records []journal.Record) (facts.Have, error) {
	have, err := facts.Look(ctx, s.agent.Machine, s.agent.Root)
	if err != nil {
		return have, err
	}
	have.Disks = facts.Classify(have, facts.Who{Identity: s.identity(), Medium: s.agent.image.DiskID, Begun: plan.Begun(records)})
	return have, nil
}

func (s *site) probe(ctx context.Context, dev string) (facts.Content, error) {
	return facts.Probe(ctx, s.agent.Machine, dev)
}

func (s *site) decide(w plan.Want, have facts.Have, records []journal.Record) plan.Plan {
	var p plan.Picks
	p.Disks, p.Missing, p.Unclear = facts.Pick(have.Disks, w.Storage.Disks)
	s.picks = p.Disks
	decided := plan.Storage(w, have, p, records)
	decided.Notes = append(decided.Notes, have.Remarks...)
	s.show(have, decided)
	s.done = decided.Done()
	return decided
}

// show puts what was seen and decided on the page.
func (s *site) show(have facts.Have, p plan.Plan) {
	s.agent.page.set(func(now *status.Status) {
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
			if slices.Contains(s.agent.places.Mounted, m.Target) {
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
			st.State, st.Since = state, s.agent.uptime()
		}
	})
}

// tell puts what becomes of a plan on the console, and on the page what a reader there would miss.
func (s *site) tell(e storage.Event) {
	a := s.agent
	switch e.Kind {
	case storage.Planned:
		s.tellPlan("storage", e.Plan)
	case storage.Begins:
		suffix := ""
		if e.Number > 0 {
			suffix = fmt.Sprintf(" (journal %d)", e.Number)
		}
		a.say("storage", "begins: %s%s", e.Act.Name, suffix)
		if e.Act.Kind == act.Mount && s.said["mounting"] == "" {
			s.said["mounting"] = "yes"
			s.count(func(w *status.Written, n int64) { w.AtMount = -n })
		}
	case storage.Done:
		a.say("storage", "done: %s", e.Act.Name)
		a.page.set(func(now *status.Status) {
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
		a.page.set(func(now *status.Status) { now.Storage.Fault = sentence })
		s.once("failed", sentence, "%s; it is tried again", sentence)
	}
}

func (s *site) tellPlan(about string, p plan.Plan) {
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
	s.agent.page.problem(about, strings.Join(slices.Concat(problems, waits), "; "))
	if about == "storage" && len(refused) > 0 {
		s.agent.page.set(func(now *status.Status) {
			if now.Mongod.PID == 0 { // else it serves, whatever is wrong with a disk beside
				now.Phase = "degraded"
			}
		})
	}
}

// all says a list of sentences, when it is another than last time.
func (s *site) all(about, before string, sentences []string) {
	if joined := strings.Join(sentences, "\n"); s.said[about] != joined {
		s.said[about] = joined
		for _, one := range sentences {
			s.agent.say("storage", "%s%s", before, one)
		}
	}
}

func (s *site) once(about, key, format string, values ...any) {
	if s.said[about] != key {
		s.said[about] = key
		s.agent.say("storage", format, values...)
	}
}

// ready says what stands.
func (s *site) ready() {
	a := s.agent
	took := (a.Machine.Uptime() - s.began).Seconds()
	var stands []string
	a.page.set(func(now *status.Status) {
		now.Storage.ReadyS, now.Storage.State, now.Storage.Since, now.Storage.Plan = took, "ready", a.uptime(), nil
		for _, m := range now.Storage.Mounts {
			stands = append(stands, fmt.Sprintf("%s %s on %s", m.Target, m.Type, m.Device))
		}
	})
	a.say("storage", "ready: %s", strings.Join(stands, ", "))
}

// served notes what mongod's start has found written, once.
func (s *site) served() {
	if s == nil || s.said["served"] != "" {
		return
	}
	s.said["served"] = "yes"
	s.count(func(w *status.Written, n int64) {
		w.Sectors = n
		if s.said["mounting"] != "" {
			w.AtMount += n
		}
	})
}

// words are those of a file, none when it is not there.
func words(file string) []string {
	data, _ := os.ReadFile(file)
	return strings.Fields(string(data))
}

func lines(file string) []string {
	data, _ := os.ReadFile(file)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// sectors is what was written to each disk since the kernel's start, the seventh number of Documentation/block/stat.rst.
func sectors(root string) map[string]int64 {
	counts := map[string]int64{}
	files, _ := filepath.Glob(root + "/sys/block/*/stat")
	for _, file := range files {
		var n int64
		if fields := words(file); len(fields) > 6 {
			_, _ = fmt.Sscan(fields[6], &n)
		}
		counts[filepath.Base(filepath.Dir(file))] = n
	}
	return counts
}

// count notes how much was written to the data disks since the agent came.
func (s *site) count(note func(*status.Written, int64)) {
	now := sectors(s.agent.Root)
	s.agent.page.set(func(page *status.Status) {
		for _, d := range s.picks {
			at := slices.IndexFunc(page.Storage.Written, func(w status.Written) bool { return w.Disk == d.Name })
			if at < 0 {
				page.Storage.Written = append(page.Storage.Written, status.Written{Disk: d.Name})
				at = len(page.Storage.Written) - 1
			}
			note(&page.Storage.Written[at], now[d.Name]-s.written[d.Name])
		}
	})
}
