package pid1

import (
	"syscall"
	"time"
)

// keepAgent starts the agent again whenever it ends.
func (p *first) keepAgent() {
	for soon := 0; p.down.Err() == nil; {
		began := time.Now()
		how := p.runAgent()
		if p.down.Err() != nil {
			return
		}
		ran := time.Since(began)
		if ran > steady {
			soon = 0
		}
		wait := pause(soon)
		soon++
		say("agent", "ended after %.1f s: %s; starts again in %s", ran.Seconds(), how, wait)
		select {
		case <-p.down.Done():
		case <-time.After(wait):
		}
	}
}

// steady is how long an agent runs when nothing is wrong with it.
const steady = 30 * time.Second

// pause before the next start: none at first, then a second, so that an agent that ends at once leaves the machine to mongod. It is never longer, since a node
// must have its agent back within two.
func pause(endedSoon int) time.Duration {
	if endedSoon == 0 {
		return 0
	}
	return time.Second
}

func (p *first) runAgent() (how string) {
	p.agent.Lock()
	if p.down.Err() != nil {
		p.agent.Unlock()
		return "not started"
	}
	pid, end, err := p.children.start("/init", []string{"/init", "agent"}, []uintptr{0, 1, 2, p.searched.Fd()}, &syscall.SysProcAttr{Setsid: true})
	ended := make(chan struct{})
	p.agent.pid, p.agent.ended = pid, ended
	p.agent.Unlock()
	if err != nil {
		return err.Error()
	}
	how = <-end
	p.agent.Lock()
	defer p.agent.Unlock()
	p.agent.pid = 0
	close(ended)
	return how
}
