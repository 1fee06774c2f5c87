package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"grove/firstboot/firewall"
	"grove/firstboot/status"
	"grove/firstboot/storage"
)

// wall is the firewall as the agent keeps it. The rules in the kernel outlive the agent, and the next one replaces them by its own without a gap.
type wall struct {
	mu     sync.Mutex // held while rules are loaded
	known  bool       // the settings are, so that rules can be
	wanted firewall.Wanted
	missed error         // of the kernel's modules; it counts only if the kernel can't do without
	loaded string        // rules, as text; empty before the first
	said   string        // of them
	tried  chan struct{} // closed after the first attempt
	up     chan struct{} // closed when there are rules
}

// raisedAgain is when a firewall that could not be loaded is tried again.
const raisedAgain = 30 * time.Second

// openWall begins with what an agent before this one has opened for mongod, which runs on.
func (a *Agent) openWall(mongod int) {
	a.wall = wall{wanted: firewall.Wanted{Mongod: mongod}, tried: make(chan struct{}), up: make(chan struct{})}
}

// guard loads the rules as soon as the settings are known. Without them no service of the agent's own opens; mongod, which asks who is there, goes on.
func (a *Agent) guard(ctx context.Context) {
	s, known := a.settings(ctx)
	if !known {
		return
	}
	missed := (&storage.Modules{Host: a.Machine, Root: a.Root}).Load(firewall.Modules...)
	a.wall.mu.Lock()
	a.wall.known, a.wall.missed = true, missed
	a.wall.mu.Unlock()
	for first := true; ; first = false {
		err := a.letIn(func(w *firewall.Wanted) {
			w.Networks, w.Own = s.Firewall, a.Addresses()
			if !s.Status.Off {
				w.Page = s.Status.Port
			}
		})
		if first {
			close(a.wall.tried)
		}
		if err == nil {
			close(a.wall.up)
			return
		}
		select {
		case <-time.After(raisedAgain):
		case <-ctx.Done():
			return
		}
	}
}

// guarded waits until there are rules. False means that ctx has ended before.
func (a *Agent) guarded(ctx context.Context) bool {
	select {
	case <-a.wall.up:
		return true
	case <-ctx.Done():
		return false
	}
}

// letIn changes what is wanted, and loads the rules that follow, if they are others. It returns when they count.
func (a *Agent) letIn(change func(*firewall.Wanted)) error {
	w := &a.wall
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.wanted)
	if !w.known {
		return nil
	}
	table := firewall.Decide(w.wanted)
	text := table.String()
	if text == w.loaded {
		return nil
	}
	err := a.Filter(context.Background(), table)
	if err == nil {
		w.loaded = text
	}
	a.tellWall(table, err)
	return err
}

// tellWall is called with the wall locked.
func (a *Agent) tellWall(t firewall.Table, err error) {
	w, state, fault := &a.wall, "loaded", ""
	said := fmt.Sprintf("mongod's port is open to %s, the operator's to %s; all else that comes in is dropped", list(t.Cluster), list(t.Operator))
	if err != nil {
		state, fault = "failed", strings.ReplaceAll(errors.Join(err, w.missed).Error(), "\n", "; ")
		if w.loaded == "" {
			fault += "; SSH and the status page stay closed, and mongod is reached by whoever reaches this node"
		} else {
			fault += "; the rules of before stay"
		}
		said = fault
	}
	a.voice.Problem("firewall", fault)
	a.voice.Page(func(s *status.Status) {
		s.Firewall = status.Firewall{State: state, Cluster: texts(t.Cluster), Operator: texts(t.Operator), Rules: w.loaded}
	})
	if said != w.said {
		a.voice.Say("firewall", "%s", said)
	}
	w.said = said
}

// letMongodIn opens its port before it listens.
func (a *Agent) letMongodIn(ctx context.Context, port int) {
	select {
	case <-a.wall.tried:
		_ = a.letIn(func(w *firewall.Wanted) { w.Mongod = port }) // what is wrong was said
	case <-ctx.Done():
	}
}

// moved follows the node's addresses.
func (a *Agent) moved() {
	_ = a.letIn(func(w *firewall.Wanted) { w.Own = a.Addresses() })
}

func texts(networks []netip.Prefix) (all []string) {
	for _, n := range networks {
		all = append(all, n.String())
	}
	return all
}

func list(networks []netip.Prefix) string {
	if len(networks) == 0 {
		return "nobody"
	}
	return strings.Join(texts(networks), ", ")
}

// Addresses are the IPv4 addresses of a machine's interfaces, but for the loopback one's.
func Addresses() (all []netip.Prefix) {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range found {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() {
			all = append(all, p)
		}
	}
	return all
}

// Firewall prints the rules that the agent has loaded, as nft would list them. With --json the networks as well. It gives the exit code.
func Firewall(args []string) int {
	now := status.Read(status.File)
	switch {
	case now.Agent.PID == 0:
		fmt.Fprintln(os.Stderr, "read "+status.File+": the agent has not written it yet")
		return 1
	case slices.Contains(args, "--json"):
		out, err := json.MarshalIndent(now.Firewall, "", "  ")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(string(out))
	case now.Firewall.State != "loaded":
		fmt.Fprintln(os.Stderr, "there are no rules; see the problems in "+status.File)
		return 1
	default:
		fmt.Print(now.Firewall.Rules)
	}
	return 0
}
