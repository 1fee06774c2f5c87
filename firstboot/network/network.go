// Package network brings a node's Ethernet interfaces up and keeps their DHCP leases.
//
// Every interface with a carrier is asked for, each on its own; there is no order among them and none is waited for. IPv4 only: what the labs and EC2's
// default networks speak.
package network

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// Event is what happened to an interface, for the agent.
type Event struct {
	Kind  Kind
	Link  string
	MAC   net.HardwareAddr
	Lease Lease // Leased
	Why   string
}

// Kind of an event.
type Kind string

// The kinds. Failed says that an attempt was in vain; it goes on.
const (
	Up     Kind = "up" // has a carrier
	Leased Kind = "leased"
	Lost   Kind = "lost" // the address is gone
	Failed Kind = "failed"
)

// Link is an Ethernet interface.
type Link struct {
	Name    string
	MAC     net.HardwareAddr
	Carrier bool
}

// Links is the kernel's side; Kernel is the true one.
type Links interface {
	// Watch sends every Ethernet interface as it is, then again after each change, until ctx ends.
	Watch(ctx context.Context) (<-chan Link, error)
	Up(link string) error
	Set(link string, l Lease) error
	Unset(link string, l Lease) error
}

// Client speaks DHCP on one interface.
type Client interface {
	Ask(ctx context.Context, link string) (Lease, error)
	Again(ctx context.Context, link string) (Lease, error) // for the lease that Ask gave last
}

// Run works until ctx ends. tell is called for one event at a time.
func Run(ctx context.Context, links Links, newClient func() Client, tell func(Event)) error {
	seen, err := links.Watch(ctx)
	if err != nil {
		return fmt.Errorf("watch the network interfaces: %w", err)
	}
	var one sync.Mutex
	say := func(e Event) {
		one.Lock()
		defer one.Unlock()
		tell(e)
	}
	var all sync.WaitGroup
	defer all.Wait()
	known, raised := map[string]bool{}, map[string]bool{}
	for link := range seen {
		if !raised[link.Name] {
			raised[link.Name] = true
			if err := links.Up(link.Name); err != nil {
				say(Event{Kind: Failed, Link: link.Name, MAC: link.MAC, Why: err.Error()})
			}
		}
		if link.Carrier && !known[link.Name] {
			known[link.Name] = true
			say(Event{Kind: Up, Link: link.Name, MAC: link.MAC})
			all.Go(func() { hold(ctx, links, newClient(), link, say) })
		}
	}
	return context.Cause(ctx)
}

// hold asks for a lease and renews it, for as long as the node is up.
func hold(ctx context.Context, links Links, client Client, link Link, say func(Event)) {
	event := func(kind Kind, l Lease, why string) {
		say(Event{Kind: kind, Link: link.Name, MAC: link.MAC, Lease: l, Why: why})
	}
	for ctx.Err() == nil {
		lease, err := client.Ask(ctx, link.Name)
		if err == nil {
			err = links.Set(link.Name, lease)
		}
		if err != nil {
			event(Failed, Lease{}, err.Error())
			rest(ctx, time.Second)
			continue
		}
		event(Leased, lease, "")
		lease, why := keep(ctx, links, client, link.Name, lease, func(l Lease) { event(Leased, l, "") })
		if ctx.Err() != nil {
			return // the address stays: mongod goes on without the agent
		}
		if err := links.Unset(link.Name, lease); err != nil {
			why = fmt.Sprintf("%s; %v", why, err)
		}
		event(Lost, lease, why)
	}
}

// keep renews until the lease has run out: at the server's time, then each half of what is left, as RFC 2131, 4.4.5 has it.
func keep(ctx context.Context, links Links, client Client, link string, lease Lease, changed func(Lease)) (last Lease, why string) {
	given, wait := time.Now(), lease.Renew
	for {
		if rest(ctx, wait); ctx.Err() != nil {
			return lease, ""
		}
		fresh, err := client.Again(ctx, link)
		switch {
		case err == nil && fresh.Address == lease.Address:
			given, wait = time.Now(), fresh.Renew
			if err := links.Set(link, fresh); err != nil {
				return lease, err.Error()
			}
			if !same(lease, fresh) {
				changed(fresh)
			}
			lease = fresh
			continue
		case err == nil:
			return lease, fmt.Sprintf("the server gives %s in place of %s", fresh.Address, lease.Address)
		}
		left := lease.Lasts - time.Since(given)
		if left <= 0 {
			return lease, fmt.Sprintf("the lease has run out: %v", err)
		}
		wait = min(max(left/2, shortest/2), left)
	}
}

// same says that nothing but times differs.
func same(a, b Lease) bool {
	a.Lasts, a.Renew, b.Lasts, b.Renew = 0, 0, 0, 0
	return fmt.Sprint(a) == fmt.Sprint(b)
}

func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
