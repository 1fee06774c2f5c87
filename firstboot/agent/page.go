package agent

import (
	"maps"
	"slices"
	"sync"

	"grove/firstboot/status"
)

// page is the status as the parts of the agent change it, each from its own goroutine. Every change is written at once.
type page struct {
	agent    *Agent
	mu       sync.Mutex
	now      status.Status
	problems map[string]string // by what they are about; one each
}

func (p *page) set(change func(*status.Status)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.now)
	p.write()
}

// problem sets the sentence about one thing, "" takes it away. It says whether that is news.
func (p *page) problem(about, sentence string) (news bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.problems[about] == sentence {
		return false
	}
	if p.problems == nil {
		p.problems = map[string]string{}
	}
	p.problems[about] = sentence
	if sentence == "" {
		delete(p.problems, about)
	}
	p.write()
	return true
}

// write is best effort: /run is RAM, and a node that can't write there has other troubles.
func (p *page) write() {
	p.now.Problems = nil
	for _, about := range slices.Sorted(maps.Keys(p.problems)) {
		p.now.Problems = append(p.now.Problems, about+": "+p.problems[about])
	}
	p.now.Updated = p.agent.uptime()
	p.now.Agent.RSS = int64(p.agent.Machine.Resident(p.now.Agent.PID))
	_ = status.Write(p.agent.Root+status.File, p.now)
}

// about is the sentence about one thing, empty when there is none.
func (p *page) about(what string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problems[what]
}

func (p *page) read() status.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}
