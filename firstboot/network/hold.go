package network

import (
	"context"
	"fmt"
	"time"

	"grove/internal/spec"
)

// holder sees to one link, for as long as the node is up.
type holder struct {
	*run
	link Link
	want spec.Interface
	wake <-chan struct{}
}

func (h *holder) hold(ctx context.Context) {
	own, is, err := static(h.want)
	switch {
	case err != nil: // refused before it came here, but for an image of another version
		h.event(Failed, own, err.Error())
	case is:
		h.settle(ctx, own)
	default:
		h.lease(ctx)
	}
}

func (h *holder) event(kind Kind, l Lease, why string) {
	h.tell(Event{Kind: kind, Link: h.link.Name, MAC: h.link.MAC, Lease: l, Why: why})
}

func (h *holder) trouble(about, why string) {
	h.tell(Event{Kind: Trouble, Link: h.link.Name, MAC: h.link.MAC, About: about, Why: why})
}

// set gives the link its MTU and its address. An MTU that the card refuses is no reason to go without an address.
func (h *holder) set(l Lease) error {
	l.MTU = mtu(h.MTU(h.link.Name), h.want, h.Network, l)
	why := ""
	if l.MTU != 0 {
		if err := h.Links.SetMTU(h.link.Name, l.MTU); err != nil {
			why = err.Error()
		}
	}
	h.trouble("mtu", why)
	return h.Links.Set(h.link.Name, l)
}

// Times of an address of a node's own: how often one that is taken is tried again, and how often it is asked whether somebody else has come to have it.
const (
	takenAgain = 15 * time.Second
	stillOurs  = 5 * time.Minute
)

// settle gives the link an address that a person chose, unless somebody else has it.
func (h *holder) settle(ctx context.Context, own Lease) {
	for ctx.Err() == nil {
		var err error
		if !h.Links.Has(h.link.Name, own) { // else an agent before this one has set it, and mongod may be using it
			err = h.free(ctx, own)
		}
		if err == nil {
			err = h.set(own)
		}
		if err == nil {
			break
		}
		h.event(Failed, own, err.Error())
		h.rest(ctx, takenAgain)
	}
	if ctx.Err() == nil {
		h.event(Leased, own, "")
	}
	for ctx.Err() == nil {
		h.trouble("address", word(h.free(ctx, own)))
		h.rest(ctx, stillOurs)
	}
}

func (h *holder) free(ctx context.Context, own Lease) error {
	other, err := h.Links.Taken(ctx, h.link.Name, own)
	if other != nil {
		return fmt.Errorf("%s is taken by the machine with the MAC address %s", own.Address.Addr(), other)
	}
	if err != nil && ctx.Err() == nil { // it can't be known; an address is worth more than the certainty
		h.trouble("probe", err.Error())
	}
	return nil
}

func word(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// lease asks for a lease and renews it.
func (h *holder) lease(ctx context.Context) {
	client := h.NewClient()
	for ctx.Err() == nil {
		lease, err := client.Ask(ctx, h.link.Name)
		if err == nil {
			err = h.set(lease)
		}
		if err != nil {
			h.event(Failed, Lease{}, err.Error())
			h.rest(ctx, time.Second)
			continue
		}
		h.event(Leased, lease, "")
		lease, why := h.keep(ctx, client, lease)
		if ctx.Err() != nil {
			return // the address stays: mongod goes on without the agent
		}
		if err := h.Links.Unset(h.link.Name, lease); err != nil {
			why = fmt.Sprintf("%s; %v", why, err)
		}
		h.event(Lost, lease, why)
	}
}

// keep renews until the lease has run out: at the server's time, then each half of what is left, as RFC 2131, 4.4.5 has it; and when the carrier is back, as it may
// lead elsewhere.
func (h *holder) keep(ctx context.Context, client Client, lease Lease) (last Lease, why string) {
	given, wait := time.Now(), lease.Renew
	for {
		if h.rest(ctx, wait); ctx.Err() != nil {
			return lease, ""
		}
		fresh, err := client.Again(ctx, h.link.Name)
		switch {
		case err == nil && fresh.Address == lease.Address:
			given, wait = time.Now(), fresh.Renew
			if err := h.set(fresh); err != nil {
				return lease, err.Error()
			}
			if !same(lease, fresh) {
				h.event(Leased, fresh, "")
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

// rest ends early when the carrier is back.
func (h *holder) rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-h.wake:
	case <-t.C:
	}
}

// same says that nothing but times differs.
func same(a, b Lease) bool {
	a.Lasts, a.Renew, b.Lasts, b.Renew = 0, 0, 0, 0
	return fmt.Sprint(a) == fmt.Sprint(b)
}
