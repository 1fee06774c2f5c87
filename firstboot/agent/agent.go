// Package agent is what makes a booted machine a node: it mounts the state partition, keeps mongod running, gives the node its name and address, and says
// how it is.
//
// It may die at any point and be started anew: each part looks at what is before it acts, and mongod runs on meanwhile. What fails is a problem on the
// status page and a line on the console, never the end of the agent.
package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"

	"go.mongodb.org/mongo-driver/bson"

	"grove/firstboot/access"
	"grove/firstboot/clock"
	"grove/firstboot/disk"
	"grove/firstboot/firewall"
	"grove/firstboot/lend"
	"grove/firstboot/network"
	"grove/firstboot/network/probe"
	"grove/firstboot/presence"
	"grove/firstboot/provision"
	"grove/firstboot/sight"
	"grove/firstboot/space"
	"grove/firstboot/status"
	"grove/firstboot/tuner"
	"grove/firstboot/voice"
	"grove/firstboot/wall"
	"grove/internal/host"
	"grove/internal/mongoconf"
	"grove/internal/spec"
)

// Agent is the agent with its doors. Root stands before every path of the node, empty but in tests.
type Agent struct {
	Machine   host.Machine
	Root      string
	Console   io.Writer
	Searched  io.Reader // ends when PID 1 has mounted the medium's system, or has given up
	Links     network.Links
	NewClient func() network.Client
	Ready     func(ctx context.Context, port int) error // of mongod
	Wire      Wire
	Filter    func(context.Context, firewall.Table) error // the kernel's packets
	Addresses func() []netip.Prefix                       // of the node
	Listen    func(port int) (net.Listener, error)
	Warnings  func(ctx context.Context, port int, log string) ([]string, error) // of mongod
	Server    func(ctx context.Context, port, pid int) (bson.Raw, error)        // mongod's counters; nil: it is not asked for them

	image    spec.Node
	medium   disk.Medium
	voice    *voice.Voice
	presence *presence.Site
	settled  settled
	lending  *lend.Lending
	clock    *clock.Site
	wall     *wall.Site
	access   *access.Site
	state    state
	tuner    *tuner.Site
	places   mongoconf.Places
	site     *provision.Site
	answered chan struct{} // closed when mongod has answered first
	first    sync.Once     // to answer
	sight    *sight.Site
	space    *space.Site
}

// Wire is what the agent asks of other machines.
type Wire struct {
	Time     func(ctx context.Context, server string) clock.Sample
	Echo     func(ctx context.Context, from, to netip.Addr, bytes int) (probe.Pong, error)
	Name     func(ctx context.Context, server netip.AddrPort, name string) ([]netip.Addr, error)
	Metadata string // where EC2's metadata service is
}

// Run works until PID 1 wants the agent to leave or the node to stop.
func (a *Agent) Run() error {
	leave, stop := a.Machine.Told()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := a.begin(); err != nil {
		return err
	}
	var parts sync.WaitGroup
	defer parts.Wait()
	run := func(part func(context.Context)) { parts.Go(func() { part(ctx) }) }
	found := a.findMedium()
	run(after(found, a.readNode)) // the settings and the name; what needs them waits for them
	run(a.connect)                // addresses
	run(a.lending.Run)            // an MTU for a while
	run(a.askNeighbours)          // for a shared name, for packets that do not get through
	run(a.clock.Run)              // the time
	run(a.raise)                  // the firewall; what listens waits for it
	run(a.letIn)                  // SSH
	run(a.show)                   // the status page
	run(a.browse)                 // a page for the data
	run(a.record)                 // samples
	run(a.push)                   // metrics
	run(after(found, a.serve))    // the state, the data disks, mongod and its set
	select {
	case <-leave:
		cancel()
		a.voice.Say("agent", "leaves; mongod runs on")
		return nil
	case <-stop:
		cancel()
		parts.Wait() // so that nobody starts mongod again
		return a.stopMongod()
	}
}

// after has a part wait for something, or end with ctx.
func after(done <-chan struct{}, part func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		select {
		case <-done:
			part(ctx)
		case <-ctx.Done():
		}
	}
}

// begin learns what this node is, and what an agent before this one has counted.
func (a *Agent) begin() error {
	before := status.Read(a.Root + status.File)
	a.voice = &voice.Voice{Machine: a.Machine, Root: a.Root, Console: a.Console}
	a.settled.known, a.state.tried, a.answered = make(chan struct{}), make(chan struct{}), make(chan struct{})
	data, err := os.ReadFile(a.Root + "/etc/grove/image.json")
	if err == nil {
		err = json.Unmarshal(data, &a.image)
	}
	if err != nil {
		a.voice.Problem("image", fmt.Sprintf("the image does not say what it is: %v", err))
	}
	a.goOn(before)
	a.openParts(before)
	if err := writeUsers(a.Root); err != nil {
		a.voice.Problem("users", err.Error())
	}
	return status.Replace(a.Root+status.AgentPID, []byte(strconv.Itoa(os.Getpid())+"\n"))
}

// goOn begins the page, with what stays true of the one before.
func (a *Agent) goOn(before status.Status) {
	a.voice.Page(func(s *status.Status) {
		*s = status.Status{Image: a.image.Image, Board: a.image.Board, Phase: "starting", Node: before.Node, NodeFrom: before.NodeFrom}
		s.Agent = status.Agent{PID: os.Getpid(), Started: a.voice.Uptime()}
		s.Mongod = status.Mongod{Version: a.image.Mongod.Version, State: "absent", Since: a.voice.Uptime()}
		if before.Agent.PID != 0 {
			s.Storage, s.Clock, s.Tuning = before.Storage, before.Clock, before.Tuning
			s.Agent.Restarts, s.Mongod.Restarts, s.Mongod.LastExit = before.Agent.Restarts+1, before.Mongod.Restarts, before.Mongod.LastExit
		}
	})
}

// findMedium looks once, when PID 1 has done so.
func (a *Agent) findMedium() (done <-chan struct{}) {
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		_, _ = io.Copy(io.Discard, a.Searched)
		m, seen, err := disk.Find(a.Root, a.image.DiskID)
		if err == nil && m.Name == "" {
			err = fmt.Errorf("there is no medium with the partition table %s, only %s", a.image.DiskID, seen)
		}
		if err != nil {
			a.voice.Problem("medium", err.Error())
			a.voice.Say("state", "%v", err)
		}
		a.medium = m
	}()
	return looked
}
