// Package setconf reads and changes the configuration of a replica set as MongoDB keeps it: the fields that are meant are changed, all others stay as they are and
// where they are, those of other versions too. A change is a new document with the next version; it is installed by whoever compares and sets.
package setconf

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// MongoDB's own limits (src/mongo/db/repl/repl_set_config.h, member_config.cpp).
const (
	MostMembers = 50
	MostVoters  = 7
	mostID      = 255
)

// Config is one configuration. It never changes.
type Config struct{ doc bson.D }

// Member is one of its members.
type Member struct {
	ID       int
	Host     string // with the port
	Votes    int
	Priority float64
	Hidden   bool
	Arbiter  bool
	Tags     map[string]string
}

// Read takes what replSetGetConfig gives, or an error if that is no configuration.
func Read(doc bson.D) (Config, error) {
	c := Config{doc}
	switch {
	case c.Set() == "":
		return c, errors.New("the configuration has no _id")
	case c.Version() < 1:
		return c, fmt.Errorf("the configuration of %s has version %d", c.Set(), c.Version())
	case len(c.Members()) == 0:
		return c, fmt.Errorf("the configuration of %s has no members", c.Set())
	}
	return c, nil
}

// Found is the configuration that a new set begins with: one member.
func Found(set string, m Member) Config {
	m.ID = 0
	return Config{bson.D{{Key: "_id", Value: set}, {Key: "version", Value: int32(1)}, {Key: "members", Value: primitive.A{m.document()}}}}
}

// Document is what is sent.
func (c Config) Document() bson.D { return c.doc }

// Set is its name.
func (c Config) Set() string { name, _ := field(c.doc, "_id").(string); return name }

// Version grows with every change.
func (c Config) Version() int64 { return int64(number(field(c.doc, "version"), 0)) }

// Members are in their own order.
func (c Config) Members() (all []Member) {
	for _, d := range c.members() {
		m := Member{ID: int(number(field(d, "_id"), -1)), Votes: int(number(field(d, "votes"), 1)), Priority: number(field(d, "priority"), 1)}
		m.Host, _ = field(d, "host").(string)
		m.Hidden, _ = field(d, "hidden").(bool)
		m.Arbiter, _ = field(d, "arbiterOnly").(bool)
		tags, _ := field(d, "tags").(bson.D)
		for _, t := range tags {
			if m.Tags == nil {
				m.Tags = map[string]string{}
			}
			m.Tags[t.Key] = fmt.Sprint(t.Value)
		}
		all = append(all, m)
	}
	return all
}

// Find gives the member of this name, host and port.
func (c Config) Find(host string) (Member, bool) {
	all := c.Members()
	i := slices.IndexFunc(all, func(m Member) bool { return m.Host == host })
	if i < 0 {
		return Member{}, false
	}
	return all[i], true
}

// Voters is how many members vote.
func (c Config) Voters() (n int) {
	for _, m := range c.Members() {
		n += m.Votes
	}
	return n
}

// With adds a member, under an id that none has.
func (c Config) With(m Member) (Config, error) {
	all := c.Members()
	next := 0
	for _, other := range all {
		if other.Host == m.Host {
			return Config{}, fmt.Errorf("%s is a member of %s already", m.Host, c.Set())
		}
		next = max(next, other.ID+1)
	}
	for id := 0; next > mostID && id <= mostID; id++ {
		if !slices.ContainsFunc(all, func(m Member) bool { return m.ID == id }) {
			next = id
		}
	}
	m.ID = next
	return c.next(append(slices.Clone(c.list()), m.document())).checked()
}

// Change gives a member other votes and another priority.
func (c Config) Change(host string, votes int, priority float64) (Config, error) {
	list := slices.Clone(c.list())
	for i, v := range list {
		if d, ok := v.(bson.D); ok && field(d, "host") == host {
			list[i] = put(put(d, "votes", float64(votes)), "priority", priority)
			return c.next(list).checked()
		}
	}
	return Config{}, fmt.Errorf("%s is no member of %s", host, c.Set())
}

// Without takes a member out.
func (c Config) Without(host string) (Config, error) {
	var left primitive.A
	for _, v := range c.list() {
		if d, ok := v.(bson.D); !ok || field(d, "host") != host {
			left = append(left, v)
		}
	}
	if len(left) == len(c.list()) {
		return Config{}, fmt.Errorf("%s is no member of %s", host, c.Set())
	}
	return c.next(left).checked()
}

// next has other members and the next version. The term is the server's own to set.
func (c Config) next(members primitive.A) Config {
	var doc bson.D
	for _, e := range c.doc {
		switch e.Key {
		case "term":
			continue
		case "version":
			e.Value = like(e.Value, float64(c.Version()+1))
		case "members":
			e.Value = members
		}
		doc = append(doc, e)
	}
	return Config{doc}
}

// checked holds a configuration against the rules that every server since 3.0 has (repl_set_config.cpp): what it would refuse is not sent.
func (c Config) checked() (Config, error) {
	all := c.Members()
	electable, ids, hosts := false, map[int]bool{}, map[string]bool{}
	for _, m := range all {
		_, port, err := net.SplitHostPort(m.Host)
		switch {
		case err != nil || port == "":
			return c, fmt.Errorf("member %q: want HOST:PORT", m.Host)
		case ids[m.ID] || m.ID < 0 || m.ID > mostID:
			return c, fmt.Errorf("%s: the id %d is another's, or not within 0 to %d", m.Host, m.ID, mostID)
		case hosts[m.Host]:
			return c, fmt.Errorf("%s is a member twice", m.Host)
		case m.Priority > 0 && (m.Votes == 0 || m.Hidden || m.Arbiter):
			return c, fmt.Errorf("%s: a priority of %g goes with a vote and data that clients see", m.Host, m.Priority)
		}
		ids[m.ID], hosts[m.Host] = true, true
		electable = electable || m.Priority > 0
	}
	switch {
	case len(all) > MostMembers:
		return c, fmt.Errorf("%s would have %d members, and MongoDB takes at most %d", c.Set(), len(all), MostMembers)
	case c.Voters() > MostVoters:
		return c, fmt.Errorf("%s would have %d votes, and MongoDB takes at most %d", c.Set(), c.Voters(), MostVoters)
	case c.Voters() < 1 || !electable:
		return c, fmt.Errorf("no member of %s could become primary", c.Set())
	}
	return c, nil
}

func (m Member) document() bson.D {
	d := bson.D{{Key: "_id", Value: int32(m.ID)}, {Key: "host", Value: m.Host}}
	if m.Arbiter {
		d = append(d, bson.E{Key: "arbiterOnly", Value: true})
	}
	d = append(d, bson.E{Key: "priority", Value: m.Priority}, bson.E{Key: "votes", Value: int32(m.Votes)})
	if m.Hidden {
		d = append(d, bson.E{Key: "hidden", Value: true})
	}
	if len(m.Tags) > 0 {
		tags := bson.D{}
		for name, value := range m.Tags {
			tags = append(tags, bson.E{Key: name, Value: value})
		}
		slices.SortFunc(tags, func(a, b bson.E) int { return strings.Compare(a.Key, b.Key) })
		d = append(d, bson.E{Key: "tags", Value: tags})
	}
	return d
}

func (c Config) list() primitive.A { list, _ := field(c.doc, "members").(primitive.A); return list }

func (c Config) members() (all []bson.D) {
	for _, v := range c.list() {
		if d, ok := v.(bson.D); ok {
			all = append(all, d)
		}
	}
	return all
}

func field(d bson.D, key string) any {
	for _, e := range d {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// number reads one of any of BSON's kinds; otherwise stands for one that is left out.
func number(v any, otherwise float64) float64 {
	switch n := v.(type) {
	case int32:
		return float64(n)
	case int64:
		return float64(n)
	case float64:
		return n
	}
	return otherwise
}

// like is a number in the kind that was there before.
func like(was any, n float64) any {
	switch was.(type) {
	case int32:
		return int32(n)
	case int64:
		return int64(n)
	}
	return n
}

// put sets a field in its place, or behind the others.
func put(d bson.D, key string, n float64) bson.D {
	d = slices.Clone(d)
	for i, e := range d {
		if e.Key == key {
			if v := like(e.Value, n); number(v, 0) == n {
				d[i].Value = v
			} else {
				d[i].Value = n // 0.5 in a whole number's place
			}
			return d
		}
	}
	return append(d, bson.E{Key: key, Value: n})
}
