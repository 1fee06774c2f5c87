// Package plan decides what is to be done about a node's storage and swap: what is wanted, what the machine has and what the journal says go in, a Plan comes
// out. It touches nothing and reads no clock.
//
// Only what is proven blank, or is our own half-finished work, is ever made into something; everything else is refused with what was found on it, and all of it
// or nothing. What is ours is known by its UUID on whatever disk it is, never by a name: names change between boots. The same function serves the first boot,
// the second, and one after a loss of power at any point.
package plan

import (
	"slices"

	"grove/firstboot/facts"
	"grove/firstboot/journal"
	"grove/firstboot/plan/act"
	"grove/firstboot/plan/identity"
	"grove/internal/size"
	"grove/internal/spec"
)

// Want is what the image and the moment ask for.
type Want struct {
	Identity  identity.Identity // without a Node: its name is not known yet
	Storage   *spec.Storage
	Swap      []spec.Swap
	Recording bool      // there is a journal; without one nothing is made
	Waited    int       // seconds since the node began to look for disks
	Swapfile  size.Size // of the swap file that is there whole
	Add       []string  // disks that a person has told the node to take into its array: /dev/vdf
}

// Picks are the disks that the recipe's selectors find.
type Picks struct {
	Disks   []facts.Disk
	Missing []spec.Selector // with Count, how many it lacks
	Unclear []string        // a sentence for each selector that finds too many
}

// Plan is what to do now. With neither acts, refusals nor waits all is as it should be.
type Plan struct {
	Acts    []act.Act `json:"acts"`
	Refused []Refusal `json:"refused"`
	Waits   []Wait    `json:"waits"`
	Ready   []string  `json:"ready"` // what stands, a sentence each
	Notes   []string  `json:"notes"` // what differs from the recipe and is served nonetheless
	More    bool      `json:"more"`  // only after these acts can be seen what else there is to do
}

// Refusal is what the node does not touch, and why.
type Refusal struct {
	Sentence string   `json:"sentence"`
	Evidence []string `json:"evidence"`
	Command  string   `json:"command,omitempty"` // for a person who knows better
}

// Wait is for what may still come.
type Wait struct {
	Sentence string `json:"sentence"`
	Left     int    `json:"left_s"` // seconds, then it is refused
}

// Refuse adds a refusal.
func (p *Plan) Refuse(what, why string, evidence []string, command string) {
	p.Refused = append(p.Refused, Refusal{Sentence: what + ": " + why, Evidence: evidence, Command: command})
}

// Done says that nothing is left to do, to refuse or to wait for.
func (p Plan) Done() bool { return len(p.Acts) == 0 && len(p.Refused) == 0 && len(p.Waits) == 0 }

// decision is a plan in the making.
type decision struct {
	want    Want
	have    facts.Have
	picks   Picks
	records []journal.Record // of storage, without swap's
	plan    Plan
}

// Storage decides about /data, /log and /journal.
func Storage(w Want, have facts.Have, picks Picks, records []journal.Record) Plan {
	d := &decision{want: w, have: have, picks: picks}
	for _, r := range records {
		if stage(act.Kind(r.Kind)) > 0 && r.Cluster == w.Identity.Cluster && r.Node == w.Identity.Node {
			d.records = append(d.records, r)
		}
	}
	d.storage()
	return d.plan
}

func (d *decision) storage() {
	if d.want.Storage == nil {
		return
	}
	if d.want.Identity.Node == "" {
		d.plan.Waits = append(d.plan.Waits, Wait{Sentence: "the node's name, by which its disks are known", Left: max(1, nameMay-d.want.Waited)})
		return
	}
	base, ok := d.base()
	if !ok {
		return
	}
	places, ok := d.places(base)
	if ok && d.fileSystems(places) {
		d.mounts(places)
	}
}

// nameMay is what the agent gives DHCP to name the node, and some; then it takes a name of the MAC address.
const nameMay = 30

// base is what file systems or volumes are made on: an array, or the one disk.
func (d *decision) base() (device, bool) {
	if d.want.Storage.Raid.Level == "none" {
		return d.disk()
	}
	return d.array()
}

// device is a block device that is there, or will be when the acts before are done.
type device struct {
	name    string // in sentences
	dev     string
	kernel  string     // what the kernel calls it, "" before it is there
	disks   []act.Disk // that a write to it ends on
	content facts.Content
	sight   sight
}

type sight int

const (
	seen   sight = iota // the content is what was found
	fresh               // made by this plan
	hidden              // put to use by this plan: what is on it cannot be seen before
)

func (d *decision) add(a act.Act) { d.plan.Acts = append(d.plan.Acts, a) }

// stage is the order in which things are made, one upon the other; 0 is not of storage.
func stage(k act.Kind) int {
	return 1 + slices.Index([]act.Kind{act.CreateArray, act.CreatePV, act.CreateGroup, act.CreateVolume, act.MakeFS, act.SealFS}, k)
}

// pending says that the last thing begun is this one, and that it did not come to its end. It gives the disks that it was begun on. What was made before it is
// complete, and what would be made upon it is not begun: acts come one after the other.
func (d *decision) pending(k act.Kind, uuid, dev string) (on []journal.Disk, is bool) {
	if len(d.records) == 0 {
		return nil, false
	}
	r := d.records[len(d.records)-1]
	return r.Disks, !r.Done && r.Kind == string(k) && r.UUID == uuid && (dev == "" || r.Dev == dev)
}

// completed says that something was made to its end, by its own record or since something was made upon it.
func (d *decision) completed(k act.Kind, uuid string) bool {
	for n := len(d.records) - 1; n >= 0; n-- {
		if r := d.records[n]; r.Kind == string(k) && r.UUID == uuid {
			return r.Done || n < len(d.records)-1
		}
	}
	return false
}

// sealed says that the last thing made is the seal: all before it is complete.
func (d *decision) sealed() bool {
	n := len(d.records)
	return n > 0 && d.records[n-1].Kind == string(act.SealFS) && d.records[n-1].Done
}
