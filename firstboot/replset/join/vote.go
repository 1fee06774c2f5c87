package join

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"grove/internal/setconf"
)

// member is for a node whose mongod is in the set.
func (v View) member() Act {
	switch v.Local.State {
	case Primary, Secondary, Arbiter:
	case Removed:
		return v.removed()
	default:
		return wait("mongod is %s%s", v.Local.State, v.Local.Progress)
	}
	if v.Config == nil && v.Local.State == Primary {
		return wait("the node is primary: %s", v.Why)
	}
	if v.Config == nil {
		return wait("%s has no primary that answers: %s", v.Want.Name, v.Why)
	}
	has, in := v.Config.Find(v.self())
	if !in {
		return wait("the primary's configuration does not have the node, its mongod is to learn of that")
	}
	me := v.me()
	if v.Memory.Joined || v.Local.State == Arbiter || has.Votes >= me.Votes && has.Priority >= me.Priority {
		return Act{Kind: Settled, Text: "is a member"}
	}
	if has.Votes < me.Votes {
		return v.promote(me)
	}
	return v.reconfigure(fmt.Sprintf("take the priority %g", me.Priority), func(c setconf.Config) (setconf.Config, error) { return c.Change(me.Host, me.Votes, me.Priority) })
}

// removed is for a node whose mongod is in the set's configuration no more. One that was a member was taken out by its operator. One that was not yet has been forgotten: the
// only member that knew of it has lost its disk.
func (v View) removed() Act {
	if v.Memory.Joined {
		return refuse("the node was taken out of %s; to let it join anew, give it empty disks, or take it out of replica_set.members", v.Want.Name)
	}
	if v.Config == nil {
		return wait("the node's mongod is in no configuration of %s, and no primary answers: %s", v.Want.Name, v.Why)
	}
	return v.place()
}

// promote gives a secondary its vote. With an arbiter in the set the priority comes after the vote: servers since 5.0 refuse both at once (repl_set_config_checks.cpp, the rule
// for a primary, a secondary and an arbiter).
func (v View) promote(me setconf.Member) Act {
	if why := v.tooEarly(); why != "" {
		return wait("the node is a member without a vote; it gets one when that makes an odd number: %s", why)
	}
	priority := me.Priority
	if slices.ContainsFunc(v.Config.Members(), func(m setconf.Member) bool { return m.Arbiter }) {
		priority = 0
	}
	return v.reconfigure("take a vote", func(c setconf.Config) (setconf.Config, error) { return c.Change(me.Host, me.Votes, priority) })
}

// tooEarly says why one more vote would leave an even number of them, "" when it would not, or not for long: when another member is as ready for one. An even number is right
// only where the recipe asks for it.
func (v View) tooEarly() string {
	voters := v.Config.Voters()
	if voters >= setconf.MostVoters {
		return fmt.Sprintf("the set has %d votes", voters)
	}
	if voters%2 == 0 {
		return ""
	}
	sum, ready := 0, 0
	var missing []string
	for _, w := range v.wanted() {
		sum += w.Votes
		has, in := v.Config.Find(w.Host)
		switch state := v.States[w.Host]; {
		case w.Votes == 0 || in && has.Votes > 0:
		case w.Host == v.self() || in && (state == Secondary || v.peer(w.Host).State == Secondary) || w.Arbiter && !in && v.peer(w.Host).Fresh:
			ready++ // a member says it of itself before the primary hears of it
		default:
			missing = append(missing, w.Host)
		}
	}
	if ready >= 2 || sum%2 == 0 && voters < sum {
		return ""
	}
	if len(missing) == 0 {
		return fmt.Sprintf("there are %d votes, more than the recipe's; grove set remove takes a member out that has left", voters)
	}
	return strings.Join(missing, ", ") + " is not ready for one"
}

func (v View) peer(host string) Mongod {
	name, _, _ := net.SplitHostPort(host)
	return v.Peers[name]
}
