package lab

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/spec"
)

func TestMembersAreTheNodesThatAreUp(t *testing.T) {
	hidden := spec.Member{Host: "db2", Hidden: true}
	wanted := []spec.Member{{Host: "db3"}, hidden, {Host: "db9"}}
	var nodes []spec.Personal
	for _, name := range []string{"db1", "db2", "db3", "db2"} {
		nodes = append(nodes, spec.Personal{Hostname: name})
	}
	want := []spec.Member{{Host: "db3"}, hidden, {Host: "db1"}}
	if diff := cmp.Diff(want, membersOf(wanted, nodes)); diff != "" {
		t.Error(diff)
	}
}

func TestVotesOfAWholeSet(t *testing.T) {
	no, yes := spec.Number{Set: true}, spec.Number{Set: true, Value: 1}
	for _, c := range []struct {
		name    string
		members []spec.Member
		want    int
	}{
		{"one", make([]spec.Member, 1), 1},
		{"two: an even number would be worth no more than one", make([]spec.Member, 2), 1},
		{"three", make([]spec.Member, 3), 3},
		{"four", make([]spec.Member, 4), 3},
		{"seven", make([]spec.Member, 7), 7},
		{"eight", make([]spec.Member, 8), 7},
		{"two that are asked for", []spec.Member{{Votes: yes}, {Votes: yes}}, 2},
		{"three, one without", []spec.Member{{}, {}, {Votes: no}}, 1},
		{"four, one without", []spec.Member{{}, {}, {}, {Votes: no}}, 3},
	} {
		if got := votes(c.members); got != c.want {
			t.Errorf("%s: got %d; want %d", c.name, got, c.want)
		}
	}
}
