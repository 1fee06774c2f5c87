// Package network brings a node's Ethernet interfaces up, each as its settings say: by DHCP, whose lease is kept, or with an address of its own.
//
// Every interface with a carrier is seen to, each on its own; there is no order among them and none is waited for. An interface that is named in the settings and does
// not come is spoken of. IPv4 only: what the labs and EC2's default networks speak.
package network

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"grove/internal/spec"
)

// Config is what is wanted and who does it.
type Config struct {
	Network   spec.Network
	MTU       func(link string) int // that a person wants for a while; 0: none
	Links     Links
	NewClient func() Client
	Tell      func(Event) // one event at a time
}

// Event is what happened to an interface, for the agent.
type Event struct {
	Kind  Kind
	Link  string
	MAC   net.HardwareAddr
	Lease Lease  // Leased
	About string // Trouble: link, mtu, address
	Why   string // Trouble: empty when it is over
}

// Kind of an event.
type Kind string

// The kinds. Failed says that an attempt at an address was in vain; it goes on. Trouble is beside the address.
const (
	Up      Kind = "up" // has a carrier
	Down    Kind = "down"
	Leased  Kind = "leased"
	Lost    Kind = "lost" // the address is gone
	Failed  Kind = "failed"
	Trouble Kind = "trouble"
)

// Link is an Ethernet interface.
type Link struct {
	Name    string
	MAC     net.HardwareAddr
	Carrier bool
	Gone    bool // the interface itself, such as a USB adapter's
}

// Links is the kernel's side; Kernel is the true one.
type Links interface {
	// Watch sends every Ethernet interface as it is, then again after each change, until ctx ends.
	Watch(ctx context.Context) (<-chan Link, error)
	Up(link string) error
	// Set gives a link this address and route, and no other of their kind.
	Set(link string, l Lease) error
	Unset(link string, l Lease) error
	Has(link string, l Lease) bool
	SetMTU(link string, mtu int) error
	// Taken asks whether another machine has the address, and gives its MAC address; nil: nobody.
	Taken(ctx context.Context, link string, l Lease) (net.HardwareAddr, error)
}

// Client speaks DHCP on one interface.
type Client interface {
	Ask(ctx context.Context, link string) (Lease, error)
	Again(ctx context.Context, link string) (Lease, error) // for the lease that Ask gave last
}

// missing is how long an interface may take to appear and to have a carrier: a switch that looks for loops lets nothing through for half a minute.
const missing = 35 * time.Second

// Run works until ctx ends.
func Run(ctx context.Context, c Config) error {
	r := run{Config: c, links: map[string]*seen{}, troubles: map[string]string{}}
	come, err := c.Links.Watch(ctx)
	if err != nil {
		return fmt.Errorf("watch the network interfaces: %w", err)
	}
	defer r.all.Wait()
	late := time.NewTimer(missing)
	defer late.Stop()
	for {
		select {
		case link, more := <-come:
			if !more {
				return context.Cause(ctx)
			}
			r.see(ctx, link)
		case <-late.C:
			r.late = true
		}
		if r.late {
			r.miss()
		}
	}
}

// run is Run at work. Only tell may be called from several goroutines.
type run struct {
	Config
	links    map[string]*seen
	troubles map[string]string // that were told of interfaces that are missing
	late     bool
	all      sync.WaitGroup
	mu       sync.Mutex
}

// seen is an interface as it was last.
type seen struct {
	Link
	wake chan struct{}      // the carrier is back
	end  context.CancelFunc // nil while nobody holds it
}

func (r *run) tell(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Tell(e)
}

// see takes in what a link is now.
func (r *run) see(ctx context.Context, link Link) {
	before := r.links[link.Name]
	if link.Gone {
		r.forget(before)
		return
	}
	if before == nil {
		before = &seen{Link: Link{Name: link.Name}, wake: make(chan struct{}, 1)}
		r.links[link.Name] = before
		if err := r.Links.Up(link.Name); err != nil {
			r.tell(Event{Kind: Failed, Link: link.Name, MAC: link.MAC, Why: err.Error()})
		}
	}
	had := before.Carrier
	before.Link = link
	switch {
	case link.Carrier && !had:
		r.tell(Event{Kind: Up, Link: link.Name, MAC: link.MAC})
		r.hold(ctx, before)
	case had && !link.Carrier:
		r.tell(Event{Kind: Down, Link: link.Name, MAC: link.MAC})
	}
}

// hold begins to see to a link, or wakes who does.
func (r *run) hold(ctx context.Context, s *seen) {
	if s.end != nil {
		select {
		case s.wake <- struct{}{}:
		default: // it has not taken notice of the last time
		}
		return
	}
	ctx, s.end = context.WithCancel(ctx)
	in, _ := Wanted(r.Config.Network, s.Link)
	h := holder{run: r, link: s.Link, want: in, wake: s.wake}
	r.all.Go(func() { h.hold(ctx) })
}

func (r *run) forget(s *seen) {
	if s == nil {
		return
	}
	delete(r.links, s.Name)
	if s.end != nil {
		s.end()
	}
	r.tell(Event{Kind: Down, Link: s.Name, MAC: s.MAC})
	r.tell(Event{Kind: Lost, Link: s.Name, MAC: s.MAC, Why: "the interface is gone"})
}

// miss tells of what should be there and is not, and when it has come.
func (r *run) miss() {
	var links []Link
	for _, s := range r.links {
		links = append(links, s.Link)
	}
	now := Missing(r.Config.Network, links)
	for name, why := range now {
		if r.troubles[name] != why {
			r.tell(Event{Kind: Trouble, Link: name, About: "link", Why: why})
		}
	}
	for name := range r.troubles {
		if _, still := now[name]; !still {
			r.tell(Event{Kind: Trouble, Link: name, About: "link"})
		}
	}
	r.troubles = now
}
