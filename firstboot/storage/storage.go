// Package storage brings a node's disks to what its image asks for: it looks, plans, acts and looks again, until nothing is left to do.
//
// It holds no rules: what is there is said by package facts, what to do by package plan. Here is the order of things: a record is in the journal before its act
// begins, what an act works on is looked at once more right before it, and what goes wrong is told and tried again later, never worked around. The same code
// runs on every boot, and on a machine in memory whose power is cut at every point.
package storage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"grove/firstboot/facts"
	"grove/firstboot/journal"
	"grove/firstboot/plan"
	"grove/firstboot/plan/act"
)

// Machine is what the storage of a node is made on.
type Machine interface {
	// Look gives all that there is, with the classes of its disks.
	Look(ctx context.Context, records []journal.Record) (facts.Have, error)
	// Probe gives what one device carries.
	Probe(ctx context.Context, dev string) (facts.Content, error)
	// Do does one act, to its end or to an error.
	Do(ctx context.Context, a act.Act) error
}

// Journal keeps records: a journal.Journal.
type Journal interface {
	All() []journal.Record
	Begin(r journal.Record) (number int, err error)
	End(number int) error
}

// Run is one node's storage in the making.
type Run struct {
	Machine Machine
	Journal Journal // nil: there is none
	Want    func() plan.Want
	Decide  func(w plan.Want, have facts.Have, records []journal.Record) plan.Plan
	Partly  bool // what is refused keeps nothing else from being done: swap
	Uptime  func() time.Duration
	Tell    func(Event)
}

// Event is what has become of an act or a plan.
type Event struct {
	Kind   EventKind
	Act    act.Act // Begins, Done
	Number int     // of its record in the journal; 0 without one
	Plan   plan.Plan
	Err    error // Failed
}

// EventKind says what an event is about.
type EventKind string

// The kinds. Planned comes before its acts and whenever a look has shown nothing to act on.
const (
	Planned EventKind = "planned"
	Begins  EventKind = "begins"
	Done    EventKind = "done"
	Failed  EventKind = "failed"
)

// Until a plan is done all is looked at again: soon for what is waited for, at leisure for what a person has to see to.
const (
	soon    = time.Second
	leisure = 15 * time.Second
)

// Bring works until all is as wanted, or ctx ends. When a whole plan was done it does not look again, as every act was seen to come to its end: a second look at all
// disks, however short, is one that somebody waits for. The caller has it when there is time.
func (r *Run) Bring(ctx context.Context) error {
	for {
		p, err := r.Once(ctx)
		wait := leisure
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil || len(p.Refused) > 0:
		case len(p.Waits) > 0:
			wait = soon
		case !p.More:
			return nil
		default:
			wait = 0
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// Once looks, plans and acts. A plan that refuses anything is not begun, if all of it belongs together.
func (r *Run) Once(ctx context.Context) (plan.Plan, error) {
	p, err := r.Plan(ctx)
	if err == nil {
		r.Tell(Event{Kind: Planned, Plan: p})
		if len(p.Refused) == 0 || r.Partly {
			err = r.perform(ctx, p.Acts)
		}
	}
	if err != nil && ctx.Err() == nil {
		r.Tell(Event{Kind: Failed, Err: err})
	}
	return p, err
}

// Plan looks and decides, and does nothing.
func (r *Run) Plan(ctx context.Context) (plan.Plan, error) {
	have, err := r.Machine.Look(ctx, r.records())
	if err != nil {
		return plan.Plan{}, fmt.Errorf("look at the disks: %w", err)
	}
	return r.Decide(r.Want(), have, r.records()), nil
}

func (r *Run) records() []journal.Record {
	if r.Journal == nil {
		return nil
	}
	return r.Journal.All()
}

func (r *Run) perform(ctx context.Context, acts []act.Act) error {
	for _, a := range acts {
		if err := r.do(ctx, a); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return nil
}

// do does one act. Between its record and its end the power may go.
func (r *Run) do(ctx context.Context, a act.Act) error {
	if plan.Guarded(a.Kind) {
		content, err := r.Machine.Probe(ctx, plan.Looked(a))
		if err == nil {
			err = plan.Guard(a, content)
		}
		if err != nil {
			return err
		}
	}
	number, err := r.begin(a)
	if err != nil {
		return err
	}
	r.Tell(Event{Kind: Begins, Act: a, Number: number})
	if err := r.Machine.Do(ctx, a); err != nil {
		return err
	}
	if number > 0 {
		if err := r.Journal.End(number); err != nil {
			return err
		}
	}
	r.Tell(Event{Kind: Done, Act: a, Number: number})
	return nil
}

func (r *Run) begin(a act.Act) (number int, err error) {
	if !a.Kind.Recorded() {
		return 0, nil
	}
	if r.Journal == nil {
		return 0, fmt.Errorf("BUG: there is no journal")
	}
	id := r.Want().Identity
	record := journal.Record{Kind: string(a.Kind), Name: a.Name, Cluster: id.Cluster, Node: id.Node, UUID: a.UUID, Dev: a.Dev, Began: r.Uptime().Seconds()}
	for _, d := range a.Disks {
		record.Disks = append(record.Disks, journal.Disk{Dev: d.Dev, Serial: d.Serial, Size: int64(d.Size)})
	}
	if all := r.Journal.All(); len(all) > 0 && same(all[len(all)-1], record) {
		return all[len(all)-1].Number, nil // it failed, or was cut off, and is tried again
	}
	return r.Journal.Begin(record)
}

// same says that a record is of the very act that is about to begin, and that it did not come to its end.
func same(last, now journal.Record) bool {
	return !last.Done && last.Kind == now.Kind && last.UUID == now.UUID && last.Dev == now.Dev && last.Cluster == now.Cluster && last.Node == now.Node && slices.Equal(last.Disks, now.Disks)
}
