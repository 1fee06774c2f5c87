package set

import (
	"context"
	"strings"
	"testing"
)

func TestWhoMayNotGo(t *testing.T) {
	up := func(host, state string, votes int) Member {
		return Member{Host: host, State: state, Healthy: true, Votes: votes, Priority: float64(votes)}
	}
	down := Member{Host: "c:1", State: "DOWN", Votes: 1, Priority: 1}
	for _, c := range []struct {
		name    string
		members []Member
		host    string
		want    string
	}{
		{"a secondary of three", []Member{up("a:1", "PRIMARY", 1), up("b:1", "SECONDARY", 1), up("c:1", "SECONDARY", 1)}, "b:1", ""},
		{"one that is down", []Member{up("a:1", "PRIMARY", 1), up("b:1", "SECONDARY", 1), down}, "c:1", ""},
		{"the primary", []Member{up("a:1", "PRIMARY", 1), up("b:1", "SECONDARY", 1), up("c:1", "SECONDARY", 1)}, "a:1", "a:1 is the primary; have it step down first: grove set stepdown"},
		{"one that the majority hangs on", []Member{up("a:1", "PRIMARY", 1), up("b:1", "SECONDARY", 1), down}, "b:1", "without b:1 only 1 of 2 votes would be up, no majority: rs0 would take no writes"},
		{"the only other one that can be primary", []Member{up("a:1", "SECONDARY", 1), up("b:1", "SECONDARY", 0), {Host: "c:1", State: "ARBITER", Votes: 1, Healthy: true}}, "a:1", "without a:1 no member of rs0 could become primary"},
	} {
		got := ""
		primary := ""
		if c.members[0].State == "PRIMARY" {
			primary = c.members[0].Host
		}
		if err := (Set{Name: "rs0", Primary: primary, Members: c.members}).mayGo(c.host); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
		}
	}
}

func TestAStrangerIsNamedWithTheMembers(t *testing.T) {
	s := Set{Name: "rs0", Members: []Member{{Host: "db1:27017"}, {Host: "db2:27017"}}}
	for member, want := range map[string]string{"db1": "db1:27017", "db2:27017": "db2:27017"} {
		if got, err := s.find(member); err != nil || got != want {
			t.Errorf("%s: got %s, %v", member, got, err)
		}
	}
	if _, err := s.find("db3"); err == nil || err.Error() != "db3 is no member of rs0; it has db1:27017, db2:27017" {
		t.Errorf("got %v", err)
	}
}

func TestAMemberThatDoesNotAnswerIsNamed(t *testing.T) {
	o := Operator{Members: []string{"db1:27017"}, Address: func(string) string { return "127.0.0.1:1" }}
	if _, err := o.Status(context.Background()); err == nil || !strings.HasPrefix(err.Error(), "ask db1:27017: ") {
		t.Errorf("got %v", err)
	}
}
