package pid1

import (
	"time"

	"golang.org/x/sys/unix"
)

// Deadlines of the way down. The agent gives mongod 120 s; who waits longer than all of them together pulls the plug.
const (
	agentStops = 150 * time.Second
	restStops  = 60 * time.Second
)

// stop takes the node down in order: the agent ends mongod and itself, then every other process, then the medium is let go. It does not return.
func (p *first) stop(o order) {
	p.goDown()
	say("stop", "%s: %s", o.what, o.who)
	p.stopAgent()
	p.stopRest()
	unmounts()
	say("stop", "all is written and let go of; %s now", o.what)
	how := unix.LINUX_REBOOT_CMD_POWER_OFF
	if o.what == "restart" {
		how = unix.LINUX_REBOOT_CMD_RESTART
	}
	if err := unix.Reboot(how); err != nil {
		say("stop", "%s: %v", o.what, err)
	}
	select {} // the kernel ends this
}

func (p *first) stopAgent() {
	p.agent.Lock()
	pid, ended := p.agent.pid, p.agent.ended
	p.agent.Unlock()
	if pid == 0 {
		return
	}
	_ = unix.Kill(pid, unix.SIGUSR1)
	select {
	case <-ended:
	case <-time.After(agentStops):
		say("stop", "the agent, process %d, has not ended within %s", pid, agentStops)
	}
}

// stopRest ends everything else, mongod too if the agent was not there to do it: it takes SIGTERM for the order to write all and end.
func (p *first) stopRest() {
	select {
	case <-p.children.none: // of earlier
	default:
	}
	for _, s := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		_ = unix.Kill(-1, s)
		if s == unix.SIGTERM {
			_ = unix.Kill(-1, unix.SIGHUP) // shells
		}
		p.children.collect()
		select {
		case <-p.children.none:
			return
		case <-time.After(restStops):
			say("stop", "processes that have not ended within %s after %v", restStops, s)
		}
	}
}
