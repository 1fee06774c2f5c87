package setconf

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"

	"grove/internal/spec"
)

// Wanted is a set's members as its recipe has them, all numbers filled in. The votes that the recipe leaves open go to the first members, as many as make an odd number
// of at most seven: one vote more than an odd number bears no more failures.
func Wanted(set spec.ReplicaSet, port int) (all []Member) {
	voters, open := 0, []int{}
	for i, m := range set.Members {
		w := Member{Host: net.JoinHostPort(m.Host, strconv.Itoa(port)), Votes: int(m.Votes.Or(1)), Priority: m.Priority.Or(1), Hidden: m.Hidden, Arbiter: m.Arbiter, Tags: m.Tags}
		if voters += w.Votes; !m.Votes.Set && !m.Arbiter && i > 0 {
			open = append(open, i)
		}
		all = append(all, w)
	}
	for len(open) > 0 && (voters > MostVoters || voters%2 == 0) {
		last := open[len(open)-1]
		open = open[:len(open)-1]
		all[last].Votes = 0
		voters--
	}
	for i := range all {
		if m := &all[i]; m.Votes == 0 || m.Hidden || m.Arbiter {
			m.Priority = 0
		}
	}
	return all
}

// Drift says where a set differs from its recipe. Nothing is changed by it: the operator knows which of the two is right.
func Drift(c Config, wanted []Member) (said []string) {
	for _, m := range c.Members() {
		i := slices.IndexFunc(wanted, func(w Member) bool { return w.Host == m.Host })
		if i < 0 {
			said = append(said, fmt.Sprintf("%s is in the set and not in the recipe; if it has left, take it out: grove set remove %s", m.Host, name(m.Host)))
			continue
		}
		said = append(said, differs(m, wanted[i])...)
	}
	for _, w := range wanted {
		if _, in := c.Find(w.Host); !in {
			said = append(said, w.Host+" is in the recipe and has not joined")
		}
	}
	return said
}

func differs(m, want Member) (said []string) {
	add := func(what string, have, want any) {
		said = append(said, fmt.Sprintf("%s has %s %v in the set, %v in the recipe", m.Host, what, have, want))
	}
	if m.Votes != want.Votes {
		add("votes", m.Votes, want.Votes)
	}
	if m.Priority != want.Priority {
		add("priority", m.Priority, want.Priority)
	}
	if m.Hidden != want.Hidden {
		add("hidden", m.Hidden, want.Hidden)
	}
	if m.Arbiter != want.Arbiter {
		add("arbiter", m.Arbiter, want.Arbiter)
	}
	if !maps.Equal(m.Tags, want.Tags) {
		add("tags", m.Tags, want.Tags)
	}
	return said
}

func name(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return host
}
