package lab

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"grove/builder/lab/probe"
	"grove/builder/lab/remote"
	"grove/builder/secrets"
	"grove/internal/spec"
)

// Operator is the name of the user that a lab makes for persons.
const Operator = "admin"

// together makes one set of the lab's nodes, if the image is for one: its members are these nodes, as the recipe has them, and it has secrets of its own. What a
// node's own settings say is left as it is.
func (l *Lab) together() error {
	image := l.config.Image
	if image.Set.Name == "" {
		return nil
	}
	members := membersOf(image.Set.Members, l.config.Nodes)
	var shared spec.Secrets
	if !image.Open {
		var err error
		if shared, err = secrets.Make(rand.Reader, Operator); err != nil {
			return err
		}
		l.login = shared.Operator
		if err := secrets.Write(l.Secrets(), shared); err != nil {
			return err
		}
	}
	nodes := slices.Clone(l.config.Nodes)
	for i := range nodes {
		p := &nodes[i]
		if p.ReplicaSet.Name == "" {
			p.ReplicaSet = spec.ReplicaSet{Name: image.Set.Name, Members: members, Bootstrap: image.Set.Bootstrap}
		}
		if p.Secrets == (spec.Secrets{}) {
			p.Secrets = shared
		}
	}
	l.config.Nodes = nodes
	return nil
}

// Secrets is the file with what the lab's set shares, the operator's login among it. It goes with the lab.
func (l *Lab) Secrets() string { return remote.Run{Dir: l.dir}.Secrets() }

// membersOf are the nodes in the recipe's order, then those that it does not name.
func membersOf(wanted []spec.Member, nodes []spec.Personal) (members []spec.Member) {
	up := map[string]bool{}
	for _, p := range nodes {
		up[p.Hostname] = true
	}
	for _, m := range wanted {
		if up[m.Host] {
			members = append(members, m)
			delete(up, m.Host)
		}
	}
	for _, p := range nodes {
		if up[p.Hostname] {
			members = append(members, spec.Member{Host: p.Hostname})
			delete(up, p.Hostname) // two nodes of one name are one member
		}
	}
	return members
}

// Server is a node's mongod, asked as the lab's operator.
func (l *Lab) Server(node string) (probe.Server, error) {
	n, err := l.find(node)
	if err != nil {
		return probe.Server{}, err
	}
	return probe.Server{Address: n.forward, User: l.login.User, Password: string(l.login.Password)}, nil
}

// Writer is a node's mongod, asked as one who may write and read the lab's documents.
func (l *Lab) Writer(node string) (probe.Server, error) {
	s, err := l.Server(node)
	if s.User != "" {
		s.User = writer
	}
	return s, err
}

// writer is the name of the user that may write; its password is the operator's.
const writer = "lab"

// Gathered is a set that is whole.
type Gathered struct {
	Primary     string        `json:"primary"`
	Secondaries []string      `json:"secondaries"`
	Arbiters    []string      `json:"arbiters,omitempty"`
	Voters      int           `json:"voters"`
	After       time.Duration `json:"after"` // QEMU's start of the first node
}

func (g Gathered) String() string {
	text := fmt.Sprintf("%s is primary, secondary: %s", g.Primary, strings.Join(g.Secondaries, ", "))
	if len(g.Secondaries) == 0 {
		text = g.Primary + " is primary, alone"
	}
	if len(g.Arbiters) > 0 {
		text += ", arbiter: " + strings.Join(g.Arbiters, ", ")
	}
	return fmt.Sprintf("%s; voters: %d; after %.1f s", text, g.Voters, g.After.Seconds())
}

// HasSet says whether the image is for one.
func (l *Lab) HasSet() bool { return l.config.Image.Set.Name != "" }

// Gather waits until all nodes are one set: one primary, the others secondaries or arbiters, each a member, and an odd number of votes as far as the recipe leaves
// it open. The error says what is missing. ctx needs an end.
func (l *Lab) Gather(ctx context.Context) (Gathered, error) {
	began := l.nodes[0].current().boot.Start
	for {
		g, missing := l.look(ctx)
		if missing == nil {
			g.After = time.Since(began)
			return g, nil
		}
		select {
		case <-ctx.Done():
			return g, fmt.Errorf("wait for the set: %w", missing)
		case <-time.After(2 * look):
		}
	}
}

func (l *Lab) look(ctx context.Context) (g Gathered, missing error) {
	for _, n := range l.nodes {
		s, _ := l.Server(n.seat.Name)
		role, err := s.Role(ctx)
		switch name := n.seat.Name; {
		case err != nil:
			missing = errors.Join(missing, fmt.Errorf("%s: %w", name, err))
		case role.Set != l.config.Image.Set.Name:
			missing = errors.Join(missing, fmt.Errorf("%s: its set is %q, want %q", name, role.Set, l.config.Image.Set.Name))
		case role.Primary && g.Primary != "":
			missing = errors.Join(missing, fmt.Errorf("%s and %s are both primary", g.Primary, name))
		case role.Primary:
			g.Primary = name
		case role.Second:
			g.Secondaries = append(g.Secondaries, name)
		case role.Arbiter:
			g.Arbiters = append(g.Arbiters, name)
		default:
			missing = errors.Join(missing, fmt.Errorf("%s: is %s", name, role))
		}
	}
	if g.Primary == "" {
		missing = errors.Join(missing, errors.New("there is no primary"))
	}
	if missing != nil {
		return g, missing
	}
	if g.Voters, missing = l.members(ctx, g.Primary); missing == nil && l.login.User != "" {
		s, _ := l.Server(g.Primary)
		missing = s.MakeWriter(ctx, writer, s.Password)
	}
	return g, missing
}

// members looks at the configuration that the primary has, and counts its votes.
func (l *Lab) members(ctx context.Context, primary string) (voters int, err error) {
	s, _ := l.Server(primary)
	members, err := s.Members(ctx)
	if err != nil {
		return 0, err
	}
	var hosts []string
	for _, m := range members {
		host, _, _ := net.SplitHostPort(m.Host)
		hosts = append(hosts, host)
		voters += m.Votes
	}
	for _, n := range l.nodes {
		if !slices.Contains(hosts, n.config.Nodes[n.number].Hostname) {
			return voters, fmt.Errorf("%s is no member; the set has %s", n.seat.Name, strings.Join(hosts, ", "))
		}
	}
	if want := votes(l.nodes[0].config.Nodes[0].ReplicaSet.Members); voters != want {
		return voters, fmt.Errorf("the set has %d votes, want %d", voters, want)
	}
	return voters, nil
}

// votes are as many as the recipe says, where it leaves them open an odd number of at most seven.
func votes(members []spec.Member) int {
	given, left := 0, 0
	for _, m := range members {
		switch {
		case m.Votes.Set:
			given += int(m.Votes.Value)
		default:
			left++
		}
	}
	all := min(given+left, 7)
	if left > 0 && all%2 == 0 {
		all--
	}
	return max(all, given)
}
