package join

import (
	"strings"
	"testing"

	"grove/internal/setconf"
	"grove/internal/spec"
)

var (
	fresh  = Mongod{Fresh: true}
	silent = Mongod{Silent: "timed out"}
	unsure = Mongod{Unproven: "it does not take the cluster's key"}
)

func in(state State) Mongod { return Mongod{Set: "rs0", State: state} }

// conf is a configuration out of words such as db1/1, host and votes.
func conf(t *testing.T, words string) *setconf.Config {
	t.Helper()
	var c setconf.Config
	for i, word := range strings.Fields(words) {
		host, votes, _ := strings.Cut(word, "/")
		m := setconf.Member{Host: host + ":27017", Arbiter: votes == "a"}
		if votes == "1" {
			m.Votes, m.Priority = 1, 1
		} else if m.Arbiter || votes == "p" {
			m.Votes = 1
		}
		var err error
		if i == 0 {
			c = setconf.Found("rs0", m)
		} else if c, err = c.With(m); err != nil {
			t.Fatal(err)
		}
	}
	return &c
}

func view(self string, local Mongod, peers map[string]Mongod) View {
	return View{Want: spec.ReplicaSet{Name: "rs0", Members: []spec.Member{{Host: "db1"}, {Host: "db2"}, {Host: "db3"}}, Bootstrap: "all"}, Port: 27017, Self: self, Local: local, Peers: peers, Why: "none is known"}
}

func with(v View, change func(*View)) View { change(&v); return v }

func TestWhoFoundsAndWhoWaits(t *testing.T) {
	blank := map[string]Mongod{"db1": fresh, "db2": fresh, "db3": fresh}
	but := func(host string, m Mongod) map[string]Mongod {
		all := map[string]Mongod{"db1": fresh, "db2": fresh, "db3": fresh}
		all[host] = m
		return all
	}
	solo := func(v *View) { v.Want.Bootstrap = "solo" }
	for _, c := range []struct {
		name string
		v    View
		want string
	}{
		{"the first, with all others fresh", view("db1", fresh, blank), "found: found rs0 with db1:27017 alone"},
		{"the second never", view("db2", fresh, blank), "wait: db1 founds the set, and has not yet; it is asked again"},
		{"one is silent: it may know the set", view("db1", fresh, but("db3", silent)), "wait: db3 may know the set already, and does not answer: timed out"},
		{"one is silent, and the operator takes that on himself", with(view("db1", fresh, but("db3", silent)), solo), "found: found rs0 with db1:27017 alone"},
		{"one does not prove that it is fresh", view("db1", fresh, but("db3", unsure)), "wait: db3 says that it is in no set, which is not proven: it does not take the cluster's key"},
		{"nor does solo found beside it", with(view("db1", fresh, but("db3", unsure)), solo), "wait: db3 says that it is in no set, which is not proven: it does not take the cluster's key"},
		{"the first has data", view("db1", Mongod{Fresh: true, Data: "shop"}, blank), "refuse: mongod has a database shop that belongs to no set: a set is founded on empty disks; to make one of these data, initiate it by hand"},
		{"its own mongod is silent", view("db1", silent, blank), "wait: the node's own mongod does not answer: timed out"},
		{"its own mongod is not proven fresh", view("db1", unsure, blank), "wait: it is not proven that the node's own mongod was never in a set: it does not take the cluster's key"},
		{"it lost its disks, and one that knows the set is silent", with(view("db1", fresh, but("db2", silent)), func(v *View) { v.Memory = Memory{"rs0", "db1:27017", true} }),
			"wait: the node was a member of rs0 before its disks were lost, and db2 does not answer: timed out"},
		{"solo does not help then", with(with(view("db1", fresh, but("db2", silent)), func(v *View) { v.Memory = Memory{"rs0", "db1:27017", true} }), solo),
			"wait: the node was a member of rs0 before its disks were lost, and db2 does not answer: timed out"},
		{"it had begun to found, and solo finds one silent", with(with(view("db1", fresh, but("db2", silent)), func(v *View) { v.Memory = Memory{"rs0", "db1:27017", false} }), solo),
			"wait: db2 may know the set already, and does not answer: timed out"},
		{"it had begun to found, and all are fresh", with(view("db1", fresh, blank), func(v *View) { v.Memory = Memory{"rs0", "db1:27017", false} }), "found: found rs0 with db1:27017 alone"},
		{"nobody has the data any more", with(view("db1", fresh, blank), func(v *View) { v.Memory = Memory{"rs0", "db1:27017", true} }),
			"refuse: the node was a member of rs0, and no member has its data any more; if they are lost for good, remove /state/grove/set.json on this node to begin anew"},
		{"it lost its disks, and the set is there without a primary", view("db1", fresh, but("db2", in(Secondary))), "wait: db2 is in rs0, but no primary answers: none is known"},
		{"a name that the recipe does not have", view("db9", fresh, blank), "refuse: the node is called db9, and replica_set.members has only db1, db2, db3"},
		{"another name than before", with(view("db2", fresh, blank), func(v *View) { v.Memory = Memory{"rs0", "db4:27017", true} }),
			"refuse: the node is db4:27017 in the set, and is called db2:27017 now: give it its name again, or take the old one out by grove set remove and give the new one empty disks"},
		{"a peer of another set", view("db1", fresh, but("db2", Mongod{Set: "rs1", State: Primary})), "refuse: db2 is of the set rs1, and replica_set.name says rs0"},
		{"its own mongod is of another set", view("db1", Mongod{Set: "rs1", State: Removed}, blank), "refuse: the node's mongod is of the set rs1, and replica_set.name says rs0"},
		{"it remembers another set", with(view("db1", fresh, blank), func(v *View) { v.Memory = Memory{"rs1", "db1:27017", true} }), "refuse: the node is of the set rs1, and replica_set.name says rs0"},
	} {
		if got := said(Decide(c.v)); got != c.want {
			t.Errorf("%s: got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func said(a Act) string {
	text := string(a.Kind) + ": " + a.Text
	if a.Kind == Reconfigure {
		var words []string
		for _, m := range a.Config.Members() {
			words = append(words, strings.TrimSuffix(m.Host, ":27017")+"/"+string(rune('0'+m.Votes))+"/"+string(rune('0'+int(m.Priority))))
		}
		text += ": " + strings.Join(words, " ")
	}
	return text
}

func TestTheWayIn(t *testing.T) {
	others := func(states string) map[string]State {
		all := map[string]State{}
		for _, word := range strings.Fields(states) {
			host, state, _ := strings.Cut(word, "/")
			all[host+":27017"] = map[string]State{"p": Primary, "s": Secondary, "d": "DOWN"}[state]
		}
		return all
	}
	at := func(self string, local Mongod, config, states string) View {
		v := view(self, local, map[string]Mongod{"db1": in(Primary), "db2": fresh, "db3": fresh})
		v.Primary, v.Config, v.States = "db1:27017", conf(t, config), others(states)
		return v
	}
	arbiter := func(v *View) {
		v.Want.Members = []spec.Member{{Host: "db1"}, {Host: "db2"}, {Host: "db3", Arbiter: true}}
	}
	none := func(v *View) { v.Config = nil }
	for _, c := range []struct {
		name string
		v    View
		want string
	}{
		{"a fresh node joins without a vote", at("db2", fresh, "db1/1", ""), "reconfigure: join rs0, without a vote to begin with: db1/1/1 db2/0/0"},
		{"it is in already, and waits for the others' word", at("db2", fresh, "db1/1 db2/0", ""), "wait: rs0 has the node as a member; the others are to tell its mongod"},
		{"one that lost its disks is the same member", at("db2", fresh, "db1/1 db2/1 db3/1", ""), "wait: rs0 has the node as a member; the others are to tell its mongod"},
		{"data of its own would be lost", at("db2", Mongod{Fresh: true, Data: "shop"}, "db1/1", ""), "refuse: mongod has a database shop that belongs to no set, and would lose it by joining rs0; keep it elsewhere, and give the node empty disks"},
		{"the initial sync has no clock", at("db2", Mongod{Set: "rs0", State: "STARTUP2", Progress: ", 3 of 9 databases"}, "db1/1 db2/0", ""), "wait: mongod is STARTUP2, 3 of 9 databases"},
		{"a second vote would make two", at("db2", in(Secondary), "db1/1 db2/0", "db1/p db2/s"), "wait: the node is a member without a vote; it gets one when that makes an odd number: db3:27017 is not ready for one"},
		{"two together make three", at("db2", in(Secondary), "db1/1 db2/0 db3/0", "db1/p db2/s db3/s"), "reconfigure: take a vote: db1/1/1 db2/1/1 db3/0/0"},
		{"the second of them", at("db3", in(Secondary), "db1/1 db2/1 db3/0", "db1/p db2/s db3/s"), "reconfigure: take a vote: db1/1/1 db2/1/1 db3/1/1"},
		{"the second of them while the first is down", at("db3", in(Secondary), "db1/1 db2/1 db3/0", "db1/p db2/d db3/s"), "reconfigure: take a vote: db1/1/1 db2/1/1 db3/1/1"},
		{"all is well", at("db3", in(Secondary), "db1/1 db2/1 db3/1", ""), "settled: is a member"},
		{"the primary as well", at("db1", in(Primary), "db1/1 db2/1 db3/1", ""), "settled: is a member"},
		{"no primary", with(at("db3", in(Secondary), "db1/1 db2/1 db3/0", ""), none), "wait: rs0 has no primary that answers: none is known"},
		{"an operator took the vote away later", with(at("db3", in(Secondary), "db1/1 db2/1 db3/0", ""), func(v *View) { v.Memory = Memory{"rs0", "db3:27017", true} }), "settled: is a member"},
		{"it was forgotten before it was a member", at("db3", in(Removed), "db1/1 db2/1", ""), "reconfigure: join rs0, without a vote to begin with: db1/1/1 db2/1/1 db3/0/0"},
		{"it was forgotten, and there is no primary", with(at("db3", in(Removed), "db1/1", ""), none), "wait: the node's mongod is in no configuration of rs0, and no primary answers: none is known"},
		{"it was taken out", with(at("db3", in(Removed), "db1/1 db2/1", ""), func(v *View) { v.Memory = Memory{"rs0", "db3:27017", true} }), "refuse: the node was taken out of rs0; to let it join anew, give it empty disks, or take it out of replica_set.members"},
		{"a fourth stands where an old one has not left", at("db3", in(Secondary), "db1/1 db2/1 db3/0 db9/1", "db1/p db2/s db3/s db9/s"),
			"wait: the node is a member without a vote; it gets one when that makes an odd number: there are 3 votes, more than the recipe's; grove set remove takes a member out that has left"},
		{"an arbiter alone would make two", with(at("db3", fresh, "db1/1", ""), arbiter), "wait: an arbiter comes when its vote makes an odd number: db2:27017 is not ready for one"},
		{"an arbiter comes beside a secondary that is ready", with(at("db3", fresh, "db1/1 db2/0", "db2/s"), arbiter), "reconfigure: join rs0, without a vote to begin with: db1/1/1 db2/0/0 db3/1/0"},
		{"the secondary then takes a vote, without a priority", with(at("db2", in(Secondary), "db1/1 db2/0 db3/a", "db2/s"), arbiter), "reconfigure: take a vote: db1/1/1 db2/1/0 db3/1/0"},
		{"and the priority after it", with(at("db2", in(Secondary), "db1/1 db2/p db3/a", "db2/s"), arbiter), "reconfigure: take the priority 1: db1/1/1 db2/1/1 db3/1/0"},
		{"an arbiter that is in", with(at("db3", in(Arbiter), "db1/1 db2/p db3/a", "db2/s"), arbiter), "settled: is a member"},
	} {
		if got := said(Decide(c.v)); got != c.want {
			t.Errorf("%s: got %s\nwant %s", c.name, got, c.want)
		}
	}
}
