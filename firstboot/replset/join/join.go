// Package join decides what a node does next to be a member of its replica set, from what one look at all members has shown. It touches nothing.
//
// What it must never do is found a second set. So only the first member of the recipe's list founds, with itself alone, when every other member has proven that it was never
// in a set, and the node itself remembers none. Everybody else joins, by a configuration that follows the one that the primary has (compare and set): first without a
// vote, then, as a secondary, with one. Nothing is ever forced, and nobody is taken out: where the rules end, the node waits and says for what.
//
// Out of reach, here as anywhere: when the first member and all who know the set lose their disks at once, state partitions too, nothing remembers the set that was.
package join

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"grove/internal/setconf"
	"grove/internal/spec"
)

// View is what a node has seen.
type View struct {
	Want   spec.ReplicaSet
	Port   int
	Self   string // the node's hostname
	Memory Memory
	Local  Mongod            // its own
	Peers  map[string]Mongod // the other members of the recipe, by hostname

	Primary string           // host and port of the set's primary, empty if there is none that answers
	Config  *setconf.Config  // as the primary has it, nil if it was not read
	Why     string           // it was not
	States  map[string]State // of its members, as the primary sees them
}

// Forget is the file with the Memory.
const Forget = "/state/grove/set.json"

// Memory is what the node knows of earlier: it lies on the state partition.
type Memory struct {
	Set    string // that the node was in, or has begun to found
	Host   string // its name there, with the port
	Joined bool   // it was a member, votes and all
}

// Mongod is one member as it answered.
type Mongod struct {
	Silent   string // why there was no answer; empty when there was one
	Set      string // that it is in, empty for none
	State    State
	Fresh    bool   // proven: it has no configuration on its disk, and never had one
	Unproven string // why that could not be proven, of one that is in no set
	Data     string // of the node's own: a database that belongs to no set
	Progress string // of an initial sync
}

// State is MongoDB's name for a member's.
type State string

// The states that matter here.
const (
	Primary   State = "PRIMARY"
	Secondary State = "SECONDARY"
	Arbiter   State = "ARBITER"
	Removed   State = "REMOVED"
)

// Act is what to do. Text is a sentence for a person.
type Act struct {
	Kind   Kind
	Text   string
	Config setconf.Config // Found, Reconfigure: to be installed
}

// Kind of an act.
type Kind string

// The kinds.
const (
	Wait        Kind = "wait"
	Refuse      Kind = "refuse" // as Wait, but only a person can mend it
	Found       Kind = "found"
	Reconfigure Kind = "reconfigure" // at the primary
	Settled     Kind = "settled"     // all is as it should be
)

func wait(format string, values ...any) Act {
	return Act{Kind: Wait, Text: fmt.Sprintf(format, values...)}
}
func refuse(format string, values ...any) Act {
	return Act{Kind: Refuse, Text: fmt.Sprintf(format, values...)}
}

// Decide is the next step.
func Decide(v View) Act {
	if act, stop := v.foreign(); stop {
		return act
	}
	switch {
	case v.Local.Silent != "":
		return wait("the node's own mongod does not answer: %s", v.Local.Silent)
	case v.Local.Set != "":
		return v.member()
	case !v.Local.Fresh:
		return wait("it is not proven that the node's own mongod was never in a set: %s", v.Local.Unproven)
	case v.known() != "":
		return v.enter()
	}
	return v.found()
}

func (v View) self() string { return v.host(v.Self) }

func (v View) host(name string) string { return net.JoinHostPort(name, strconv.Itoa(v.Port)) }

// foreign is about what belongs to another set, or another node.
func (v View) foreign() (Act, bool) {
	names := hosts(v.Want.Members)
	switch {
	case !slices.Contains(names, v.Self):
		return refuse("the node is called %s, and replica_set.members has only %s", v.Self, strings.Join(names, ", ")), true
	case v.Memory.Set != "" && v.Memory.Set != v.Want.Name:
		return refuse("the node is of the set %s, and replica_set.name says %s", v.Memory.Set, v.Want.Name), true
	case v.Memory.Host != "" && v.Memory.Host != v.self():
		return refuse("the node is %s in the set, and is called %s now: give it its name again, or take the old one out by grove set remove and give the new one empty disks", v.Memory.Host, v.self()), true
	case v.Local.Set != "" && v.Local.Set != v.Want.Name:
		return refuse("the node's mongod is of the set %s, and replica_set.name says %s", v.Local.Set, v.Want.Name), true
	}
	if v.Local.Set != "" {
		return Act{}, false // what a peer is called is its own affair by now
	}
	for _, name := range names {
		if p := v.Peers[name]; p.Silent == "" && p.Set != "" && p.Set != v.Want.Name {
			return refuse("%s is of the set %s, and replica_set.name says %s", name, p.Set, v.Want.Name), true
		}
	}
	return Act{}, false
}

func hosts(members []spec.Member) (names []string) {
	for _, m := range members {
		names = append(names, m.Host)
	}
	return names
}

// known is a peer that is in the set, empty if none is.
func (v View) known() string {
	for _, m := range v.Want.Members {
		if p := v.Peers[m.Host]; p.Silent == "" && p.Set == v.Want.Name {
			return m.Host
		}
	}
	return ""
}

// found decides whether the set begins here.
func (v View) found() Act {
	first := v.Want.Members[0].Host
	switch {
	case v.Memory.Joined:
		return v.lost()
	case v.Self != first:
		return wait("%s founds the set, and has not yet; %s", first, v.doing(first))
	case v.Local.Data != "":
		return refuse("mongod has a database %s that belongs to no set: a set is founded on empty disks; to make one of these data, initiate it by hand", v.Local.Data)
	}
	for _, m := range v.Want.Members[1:] {
		p := v.Peers[m.Host]
		switch alone := v.Want.Bootstrap == "solo" && v.Memory.Set == ""; {
		case p.Silent != "" && alone:
		case p.Silent != "":
			return wait("%s may know the set already, and does not answer: %s", m.Host, p.Silent)
		case !p.Fresh:
			return wait("%s says that it is in no set, which is not proven: %s", m.Host, p.Unproven)
		}
	}
	me := v.wanted()[0]
	return Act{Found, "found " + v.Want.Name + " with " + me.Host + " alone", setconf.Found(v.Want.Name, me)}
}

func (v View) doing(name string) string {
	switch p := v.Peers[name]; {
	case p.Silent != "":
		return "it does not answer: " + p.Silent
	case p.Unproven != "":
		return "whether it was in a set is not proven: " + p.Unproven
	}
	return "it is asked again"
}

// lost is for a node that remembers the set, and finds neither data of its own nor anybody who knows it. To found it anew would be wrong as long as one may still have the data; and when
// nobody has, that is for a person to see: the disks may be others than they should be.
func (v View) lost() Act {
	for _, m := range v.Want.Members {
		switch p := v.Peers[m.Host]; {
		case m.Host == v.Self:
		case p.Silent != "":
			return wait("the node was a member of %s before its disks were lost, and %s does not answer: %s", v.Want.Name, m.Host, p.Silent)
		case !p.Fresh:
			return wait("the node was a member of %s before its disks were lost, and whether %s was in a set is not proven: %s", v.Want.Name, m.Host, p.Unproven)
		}
	}
	return refuse("the node was a member of %s, and no member has its data any more; if they are lost for good, remove %s on this node to begin anew", v.Want.Name, Forget)
}

func (v View) wanted() []setconf.Member { return setconf.Wanted(v.Want, v.Port) }

func (v View) me() (m setconf.Member) {
	for _, w := range v.wanted() {
		if w.Host == v.self() {
			m = w
		}
	}
	return m
}

// enter asks for a place in a set that is there.
func (v View) enter() Act {
	if v.Local.Data != "" {
		return refuse("mongod has a database %s that belongs to no set, and would lose it by joining %s; keep it elsewhere, and give the node empty disks", v.Local.Data, v.Want.Name)
	}
	if v.Config == nil {
		return wait("%s is in %s, but no primary answers: %s", v.known(), v.Want.Name, v.Why)
	}
	return v.place()
}

// place is to be a member without a vote, or an arbiter.
func (v View) place() Act {
	if _, in := v.Config.Find(v.self()); in {
		return wait("%s has the node as a member; the others are to tell its mongod", v.Want.Name)
	}
	me := v.me()
	if me.Arbiter {
		if why := v.tooEarly(); why != "" {
			return wait("an arbiter comes when its vote makes an odd number: %s", why)
		}
	} else {
		me.Votes, me.Priority = 0, 0
	}
	return v.reconfigure("join "+v.Want.Name+", without a vote to begin with", func(c setconf.Config) (setconf.Config, error) { return c.With(me) })
}

func (v View) reconfigure(text string, change func(setconf.Config) (setconf.Config, error)) Act {
	next, err := change(*v.Config)
	if err != nil {
		return refuse("%s: %v", text, err)
	}
	return Act{Reconfigure, text, next}
}
