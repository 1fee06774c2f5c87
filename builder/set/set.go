// Package set is the operator's hand on a replica set that runs: it tells how its members are, takes one out, and has the primary step down. It never forces a
// configuration, and the nodes' own agents take nobody out.
//
// A configuration is changed as it was read, field by field, with what this program does not know left as it is.
package set

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"

	"grove/internal/setconf"
)

// Operator is who asks, and how a member is reached. Every call ends within 30 seconds a member.
type Operator struct {
	User, Password string
	Members        []string                 // to begin with, as HOST:PORT: the first that answers is asked
	Address        func(host string) string // of a member named as the set names it; nil: the name itself
}

// Set is how a set is.
type Set struct {
	Name    string   `json:"name"`
	Primary string   `json:"primary"` // empty when there is none
	Voters  int      `json:"voters"`
	Version int64    `json:"version"` // of the configuration
	Members []Member `json:"members"`
}

// Member is one of them. Behind is seconds after the primary, -1 where that is not known.
type Member struct {
	Host     string  `json:"host"`
	State    string  `json:"state"` // PRIMARY, SECONDARY, ... as MongoDB names it
	Healthy  bool    `json:"healthy"`
	Votes    int     `json:"votes"`
	Priority float64 `json:"priority"`
	Hidden   bool    `json:"hidden"`
	Behind   float64 `json:"behind"`
	Said     string  `json:"said,omitempty"` // of a member that is not well
}

// within is how long one call may take, from finding the primary to its answer.
const within = 30 * time.Second

// ask connects to one member, directly: the set's own names may mean nothing on this machine.
func (o Operator) ask(ctx context.Context, host string, do func(context.Context, *mongo.Database) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	address := host
	if o.Address != nil {
		address = o.Address(host)
	}
	opts := options.Client().SetHosts([]string{address}).SetDirect(true).SetAppName("grove set").SetServerSelectionTimeout(5 * time.Second).SetConnectTimeout(5 * time.Second)
	if o.User != "" {
		opts.SetAuth(options.Credential{Username: o.User, Password: o.Password, AuthSource: "admin"})
	}
	client, err := mongo.Connect(ctx, opts)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", address, err)
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	if err := do(ctx, client.Database("admin")); err != nil {
		return fmt.Errorf("ask %s: %w", host, err)
	}
	return nil
}

func readConfig(ctx context.Context, admin *mongo.Database) (setconf.Config, error) {
	var reply struct {
		Config bson.D `bson:"config"`
	}
	if err := admin.RunCommand(ctx, bson.D{{Key: "replSetGetConfig", Value: 1}}).Decode(&reply); err != nil {
		return setconf.Config{}, err
	}
	return setconf.Read(reply.Config)
}

// Status asks the first member that answers for the whole set.
func (o Operator) Status(ctx context.Context) (s Set, err error) {
	for _, at := range o.Members {
		var one error
		if s, one = o.status(ctx, at); one == nil {
			return s, nil
		}
		err = errors.Join(err, one)
	}
	return s, err
}

func (o Operator) status(ctx context.Context, at string) (s Set, err error) {
	var reply struct {
		Set     string
		Members []struct {
			Name     string
			StateStr string    `bson:"stateStr"`
			Health   float64   `bson:"health"`
			At       time.Time `bson:"optimeDate"`
			Said     string    `bson:"lastHeartbeatMessage"`
		}
	}
	var c setconf.Config
	err = o.ask(ctx, at, func(ctx context.Context, admin *mongo.Database) error {
		if err := admin.RunCommand(ctx, bson.D{{Key: "replSetGetStatus", Value: 1}}).Decode(&reply); err != nil {
			return err
		}
		c, err = readConfig(ctx, admin)
		return err
	})
	if err != nil {
		return s, err
	}
	s = Set{Name: reply.Set, Version: c.Version()}
	var newest time.Time
	for _, m := range reply.Members {
		if m.StateStr == "PRIMARY" {
			s.Primary, newest = m.Name, m.At
		}
	}
	for _, m := range c.Members() {
		one := Member{Host: m.Host, State: "UNKNOWN", Votes: m.Votes, Priority: m.Priority, Hidden: m.Hidden, Behind: -1}
		s.Voters += one.Votes
		for _, seen := range reply.Members {
			if seen.Name != one.Host {
				continue
			}
			one.State, one.Healthy, one.Said = seen.StateStr, seen.Health == 1, seen.Said
			if !newest.IsZero() && !seen.At.IsZero() && seen.At.Unix() > 0 {
				one.Behind = max(newest.Sub(seen.At).Seconds(), 0)
			}
		}
		s.Members = append(s.Members, one)
	}
	sort.SliceStable(s.Members, func(i, j int) bool { return s.Members[i].Host < s.Members[j].Host })
	return s, nil
}

// Refused is what was not done, since it would do harm.
type Refused struct{ Why string }

func (r Refused) Error() string { return r.Why }

// primary finds it by way of the others.
func (o Operator) primary(ctx context.Context) (Set, error) {
	s, err := o.Status(ctx)
	if err == nil && s.Primary == "" {
		err = fmt.Errorf("%s has no primary now, and only a primary can do this", s.Name)
	}
	return s, err
}

// Remove takes a member out, by its name in the set, with or without the port. Its data stays where it is.
func (o Operator) Remove(ctx context.Context, member string) (now Set, err error) {
	s, err := o.primary(ctx)
	if err != nil {
		return s, err
	}
	host, err := s.find(member)
	if err != nil {
		return s, err
	}
	if err := s.mayGo(host); err != nil {
		return s, err
	}
	err = o.ask(ctx, s.Primary, func(ctx context.Context, admin *mongo.Database) error {
		c, err := readConfig(ctx, admin)
		if err != nil {
			return err
		}
		if c.Version() != s.Version {
			return fmt.Errorf("the configuration has changed meanwhile, from version %d to %d; look again", s.Version, c.Version())
		}
		next, err := c.Without(host)
		if err != nil {
			return err
		}
		return admin.RunCommand(ctx, bson.D{{Key: "replSetReconfig", Value: next.Document()}}).Err()
	})
	if err != nil {
		return s, fmt.Errorf("take %s out of %s: %w", host, s.Name, err)
	}
	return o.status(ctx, s.Primary)
}

func (s Set) find(member string) (string, error) {
	var hosts []string
	for _, m := range s.Members {
		name, _, _ := strings.Cut(m.Host, ":")
		if m.Host == member || name == member {
			return m.Host, nil
		}
		hosts = append(hosts, m.Host)
	}
	return "", fmt.Errorf("%s is no member of %s; it has %s", member, s.Name, strings.Join(hosts, ", "))
}

// mayGo refuses what would end the set, or its writes.
func (s Set) mayGo(host string) error {
	electable, upVotes, votes := 0, 0, 0
	for _, m := range s.Members {
		if m.Host == host {
			continue
		}
		if m.Votes > 0 && m.Priority > 0 && m.State != "ARBITER" {
			electable++
		}
		votes += m.Votes
		if m.Healthy {
			upVotes += m.Votes
		}
	}
	switch {
	case host == s.Primary:
		return Refused{host + " is the primary; have it step down first: grove set stepdown"}
	case electable == 0:
		return Refused{fmt.Sprintf("without %s no member of %s could become primary", host, s.Name)}
	case upVotes*2 <= votes:
		return Refused{fmt.Sprintf("without %s only %d of %d votes would be up, no majority: %s would take no writes", host, upVotes, votes, s.Name)}
	}
	return nil
}

// StepDown has the primary hand over, and keeps it from being elected again for a time. Without a secondary that is up to date within 10 seconds it refuses.
func (o Operator) StepDown(ctx context.Context, rest time.Duration) (was Set, err error) {
	s, err := o.primary(ctx)
	if err != nil {
		return s, err
	}
	err = o.ask(ctx, s.Primary, func(ctx context.Context, admin *mongo.Database) error {
		err := admin.RunCommand(ctx, bson.D{{Key: "replSetStepDown", Value: int64(rest.Seconds())}, {Key: "secondaryCatchUpPeriodSecs", Value: int64(10)}}).Err()
		var said mongo.CommandError
		if err != nil && !errors.As(err, &said) && mongo.IsNetworkError(err) {
			return nil // servers before 4.2 close every connection when they step down
		}
		return err
	})
	return s, err
}
