// Package firewall decides who may speak to a node, and tells the kernel's packet filter (nf_tables) so.
//
// What comes in is dropped, but for answers to what the node asked itself and for three ports: mongod's for the cluster's networks, SSH and the status page for the
// operator's. What the node sends is not filtered. The rules are one table, replaced whole in one transaction: packets meet the old rules or the new ones, never none.
// They stay when the agent ends, and no other table is touched. Limits: TCP and UDP over IPv4; over IPv6, which a node does not use, what a link needs and no more.
package firewall

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"grove/internal/spec"
)

// Wanted is what the rules follow from. A port of 0 is not open.
type Wanted struct {
	Networks spec.Firewall  // by name; those that are empty are the node's own
	Own      []netip.Prefix // the node's addresses with their networks' lengths
	Mongod   int
	SSH      int
	Page     int
}

// Table is the decided rules.
type Table struct {
	Cluster  []netip.Prefix
	Operator []netip.Prefix
	Chains   []Chain
}

// Chain is where packets pass. Those that no rule takes meet the policy.
type Chain struct {
	Name   string
	Place  Place
	Policy string // accept or drop
	Rules  []Rule
}

// Place is a hook of the kernel's path of a packet, and when a chain has its turn at it.
type Place struct{ Hook, Priority string }

// The places. At raw a packet is not yet looked up among the connections.
var (
	rawIn  = Place{"prerouting", "raw"}
	rawOut = Place{"output", "raw"}
	input  = Place{"input", "filter"}
	across = Place{"forward", "filter"}
)

// Decide gives the rules.
func Decide(w Wanted) Table {
	t := Table{Cluster: networks(w.Networks.Cluster, w.Own), Operator: networks(w.Networks.Operator, w.Own)}
	in, out := untracked(t.Cluster, w.Mongod)
	t.Chains = []Chain{
		{Name: "untracked_in", Place: rawIn, Policy: "accept", Rules: in},
		{Name: "untracked_out", Place: rawOut, Policy: "accept", Rules: out},
		{Name: "input", Place: input, Policy: "drop", Rules: slices.Concat(always(), mongod(t.Cluster, w.Mongod), opened(t.Operator, w.SSH, w.Page))},
		{Name: "forward", Place: across, Policy: "drop"},
	}
	return t
}

// networks are those that a person named, else those that the node's addresses lie in, in order and each once.
func networks(named []string, own []netip.Prefix) (all []netip.Prefix) {
	for _, text := range named {
		if p, err := netip.ParsePrefix(text); err == nil { // others are refused before they come here
			all = append(all, p.Masked())
		}
	}
	if len(named) == 0 {
		for _, p := range own {
			all = append(all, p.Masked())
		}
	}
	slices.SortFunc(all, func(a, b netip.Prefix) int {
		return strings.Compare(fmt.Sprint(a.Addr().Is6(), a), fmt.Sprint(b.Addr().Is6(), b))
	})
	return slices.Compact(all)
}

// untracked keeps mongod's connections within the cluster out of the kernel's list of connections. That list has an end: a busy server fills it, and the kernel then drops
// packets of everybody. A port that is open to a whole network needs no such memory. Both ways are told by the port: members of a set call each other.
func untracked(cluster []netip.Prefix, port int) (in, out []Rule) {
	if port == 0 {
		return nil, nil
	}
	for _, n := range cluster {
		in = append(in, rule(from(n), tcpTo(port), notrack), rule(from(n), tcpFrom(port), notrack))
		out = append(out, rule(to(n), tcpFrom(port), notrack), rule(to(n), tcpTo(port), notrack))
	}
	return in, out
}

// always are the rules of every node. The messages that a router sends about a connection (too large, not reachable) come before those that fit no connection are dropped:
// for mongod's, which are in no list, they would count as such, and a path with a smaller MTU would swallow its packets.
func always() []Rule {
	rules := []Rule{rule(onLoopback, accept)}
	for _, kind := range []icmpType{unreachable, timeExceeded, parameterProblem} {
		rules = append(rules, rule(icmp(kind), accept))
	}
	rules = append(rules,
		rule(icmp(echoRequest), seldom, accept),
		rule(stateKnown, accept),
		rule(stateInvalid, drop),
		rule(dhcpAnswer, accept))
	for _, kind := range []icmpType{tooBig6, routerAdvert6, neighbourSolicit6, neighbourAdvert6} {
		rules = append(rules, rule(icmp(kind), accept))
	}
	return rules
}

// mongod opens its port, and lets the answers in to the node's own calls to other members. An answer is anything but the packet that opens a connection, so that a stranger
// who calls from port 27017 opens none.
func mongod(cluster []netip.Prefix, port int) (rules []Rule) {
	if port == 0 {
		return nil
	}
	for _, n := range cluster {
		rules = append(rules, rule(from(n), tcpTo(port), accept), rule(from(n), tcpFrom(port), notOpening, accept))
	}
	return rules
}

func opened(operator []netip.Prefix, ports ...int) (rules []Rule) {
	for _, port := range ports {
		for _, n := range operator {
			if port != 0 {
				rules = append(rules, rule(from(n), tcpTo(port), accept))
			}
		}
	}
	return rules
}

// Name of the table, of the family inet: IPv4 and IPv6.
const Name = "grove"

// String is the table as nft lists it.
func (t Table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "table inet %s {\n", Name)
	for i, c := range t.Chains {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "\tchain %s {\n\t\ttype filter hook %s priority %s; policy %s;\n", c.Name, c.Place.Hook, c.Place.Priority, c.Policy)
		for _, r := range c.Rules {
			fmt.Fprintf(&b, "\t\t%s\n", r)
		}
		b.WriteString("\t}\n")
	}
	b.WriteString("}\n")
	return b.String()
}
