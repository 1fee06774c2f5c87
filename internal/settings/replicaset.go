package settings

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"

	"grove/internal/spec"
)

// MongoDB's own limits (src/mongo/db/repl/repl_set_config.h).
const (
	mostMembers = 50
	mostVoters  = 7
)

// A set's name may be almost any text to mongod; what can stand in a connection string without escapes will do.
var setForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (c check) replicaSet(s spec.ReplicaSet) {
	const key = "replica_set"
	if s.Name == "" {
		if len(s.Members) > 0 || s.Bootstrap != "" {
			c.report(key+".name", "is missing; want a name such as rs0")
		}
		return
	}
	if !setForm.MatchString(s.Name) {
		c.report(key+".name", "want at most 64 letters, digits, dots, hyphens and underscores, have %q", s.Name)
	}
	c.oneOf(key+".bootstrap", s.Bootstrap, spec.Bootstraps)
	if n := len(s.Members); n < 1 || n > mostMembers {
		c.report(key+".members", "want 1 to %d hostnames, have %d", mostMembers, n)
		return
	}
	voters := 0
	seen := map[string]int{}
	for i, m := range s.Members {
		at := fmt.Sprintf("%s.members[%d]", key, i)
		if first, twice := seen[m.Host]; twice {
			c.report(at, "%s is replica_set.members[%d] already", m.Host, first)
		}
		seen[m.Host] = i
		c.member(at, m)
		if m.Votes.Set && m.Votes.Value == 1 {
			voters++
		}
	}
	if voters > mostVoters {
		c.report(key+".members", "want at most %d with a vote, have %d", mostVoters, voters)
	}
	if first := s.Members[0]; first.Arbiter || first.Hidden || first.Priority.Or(1) == 0 || first.Votes.Or(1) == 0 {
		c.report(key+".members[0]", "the first member founds the set, so it must be able to become its primary: no arbiter, not hidden, with a vote and a priority")
	}
}

var numbersOnly = regexp.MustCompile(`^[0-9.]+$`)

func (c check) member(key string, m spec.Member) {
	if !hostForm.MatchString(m.Host) || numbersOnly.MatchString(m.Host) || m.Host == "localhost" {
		c.report(key, "want a hostname such as db1, without a port (mongod.config.net.port is that of all), have %q", m.Host)
	}
	if p := m.Priority; p.Set && (p.Value < 0 || p.Value > 1000) {
		c.report(key+".priority", "want 0 to 1000, have %v", p.Value)
	} else if p.Set && p.Value > 0 && (m.Arbiter || m.Hidden || m.Votes.Or(1) == 0) {
		c.report(key+".priority", "want 0: an arbiter, a hidden member and one without a vote never become primary")
	}
	if v := m.Votes; v.Set && v.Value != 0 && v.Value != 1 {
		c.report(key+".votes", "want 0 or 1, have %v", v.Value)
	} else if v.Set && v.Value == 0 && m.Arbiter {
		c.report(key+".votes", "an arbiter is there to vote")
	}
	if m.Arbiter && (m.Hidden || len(m.Tags) > 0) {
		c.report(key, "an arbiter has no data to hide or to tag")
	}
	for name, value := range m.Tags {
		if name == "" || value == "" {
			c.report(key+".tags", "want names with values, have %q: %q", name, value)
		}
	}
}

// The first user is an administrator: eight characters are the least that most rules for passwords ask.
const leastPassword = 8

var userForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// AgentUser is the name of the user that the nodes' agents log in as.
const AgentUser = "grove-agent"

// CheckSecrets reports each fault by its key. It never repeats a secret.
func CheckSecrets(s spec.Secrets, report func(key, format string, values ...any)) {
	if s.Key != "" {
		text := string(s.Key)
		// As mongod reads it: base64, whose length is a multiple of four when it is padded (src/mongo/db/auth/security_key.cpp).
		if _, err := base64.StdEncoding.DecodeString(text); err != nil || len(text) < 6 || len(text) > 1024 {
			report("secrets.key", "want 6 to 1024 characters of base64, as `grove node secrets` makes them, have %d characters", len(text))
		}
	}
	o := s.Operator
	if o.User == "" && o.Password == "" {
		return
	}
	if !userForm.MatchString(o.User) || slices.Contains([]string{AgentUser, "__system"}, o.User) {
		report("secrets.operator.user", "want a name such as admin, other than %s, have %q", AgentUser, o.User)
	}
	if len(o.Password) < leastPassword {
		report("secrets.operator.password", "want at least %d characters", leastPassword)
	}
}
