package standin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"

	"grove/internal/setconf"
)

// The states that a stand-in can be in.
const (
	startup   = int32(0)
	primary   = int32(1)
	secondary = int32(2)
	startup2  = int32(5)
	arbiter   = int32(7)
)

var names = map[int32]string{startup: "STARTUP", primary: "PRIMARY", secondary: "SECONDARY", startup2: "STARTUP2", arbiter: "ARBITER"}

// wire is the newest protocol that a version speaks.
var wire = map[string]int32{"3.0": 3, "3.2": 4}

func (s *Server) members() []setconf.Member {
	c, err := setconf.Read(s.config)
	if err != nil {
		return nil
	}
	return c.Members()
}

func (s *Server) version() int64 {
	if s.config == nil {
		return 0
	}
	c, _ := setconf.Read(s.config)
	return c.Version()
}

func (s *Server) isMaster() bson.D {
	d := bson.D{{Key: "ismaster", Value: s.Set == "" || s.state == primary}}
	if s.Set != "" && s.config == nil {
		d = append(d, bson.E{Key: "secondary", Value: false}, bson.E{Key: "info", Value: "Does not have a valid replica set config"}, bson.E{Key: "isreplicaset", Value: true})
	}
	if s.config != nil {
		var hosts bson.A
		for _, m := range s.members() {
			hosts = append(hosts, m.Host)
		}
		d = append(d, bson.E{Key: "setName", Value: s.Set}, bson.E{Key: "secondary", Value: s.state == secondary}, bson.E{Key: "hosts", Value: hosts}, bson.E{Key: "me", Value: s.Address})
		if s.state == arbiter {
			d = append(d, bson.E{Key: "arbiterOnly", Value: true})
		}
		if p := s.network.primary(s); p != "" {
			d = append(d, bson.E{Key: "primary", Value: p})
		}
	}
	return append(d, bson.E{Key: "maxBsonObjectSize", Value: int32(16 << 20)}, bson.E{Key: "maxMessageSizeBytes", Value: int32(48000000)}, bson.E{Key: "maxWriteBatchSize", Value: int32(1000)},
		bson.E{Key: "localTime", Value: primitive.NewDateTimeFromTime(time.Now())}, bson.E{Key: "maxWireVersion", Value: wire[s.Version]}, bson.E{Key: "minWireVersion", Value: int32(0)}, bson.E{Key: "ok", Value: 1.0})
}

func (s *Server) status() bson.D {
	switch {
	case s.Set == "":
		return no(76, "", "not running with --replSet")
	case s.config == nil:
		d := no(94, "", "no replset config has been received")
		if s.Version == "3.0" {
			d = no(0, "", "no replset config has been received")
		}
		return append(d, bson.E{Key: "startupStatus", Value: int32(3)})
	}
	var all bson.A
	for _, m := range s.members() {
		state, health := "(not reachable/healthy)", 0.0
		if other := s.network.servers[m.Host]; other != nil {
			state, health = names[other.state], 1
		}
		all = append(all, bson.D{{Key: "_id", Value: int32(m.ID)}, {Key: "name", Value: m.Host}, {Key: "health", Value: health}, {Key: "stateStr", Value: state}, {Key: "self", Value: m.Host == s.Address}})
	}
	return ok(bson.E{Key: "set", Value: s.Set}, bson.E{Key: "myState", Value: s.state}, bson.E{Key: "members", Value: all})
}

// legal are the fields of a configuration's top, and of a member.
var legal = map[string][]string{
	"3.0": {"_id", "version", "members", "settings"},
	"3.2": {"_id", "version", "members", "settings", "protocolVersion", "configsvr"},
}

var legalOfMember = []string{"_id", "host", "arbiterOnly", "priority", "votes", "hidden", "slaveDelay", "buildIndexes", "tags"}

// valid is the reply to a configuration that is not, nil to one that is.
func (s *Server) valid(v any) (setconf.Config, bson.D) {
	doc, is := v.(bson.D)
	if !is {
		return setconf.Config{}, no(93, "", "no configuration")
	}
	for _, e := range doc {
		if !slices.Contains(legal[s.Version], e.Key) {
			return setconf.Config{}, no(93, "", fmt.Sprintf("Unexpected field %s in replica set configuration", e.Key))
		}
	}
	c, err := setconf.Read(doc)
	if err != nil {
		return c, no(93, "", err.Error())
	}
	list, _ := field(doc, "members").(bson.A)
	for _, m := range list {
		d, _ := m.(bson.D)
		for _, e := range d {
			if !slices.Contains(legalOfMember, e.Key) {
				return c, no(93, "", fmt.Sprintf("Unexpected field %s in replica set member configuration", e.Key))
			}
		}
	}
	if c.Set() != s.Set {
		return c, no(93, "", fmt.Sprintf("Attempting to initiate a replica set with name %s, but command line reports %s; rejecting", c.Set(), s.Set))
	}
	if c.Voters() > setconf.MostVoters || c.Voters() == 0 {
		return c, no(93, "", fmt.Sprintf("Replica set configuration contains %d voting members", c.Voters()))
	}
	me, in := c.Find(s.Address)
	if !in {
		return c, no(93, "", "No host described in new configuration "+fmt.Sprint(c.Version())+" for replica set "+s.Set+" maps to this node")
	}
	if me.Priority == 0 {
		return c, no(104, "", "This node, "+s.Address+", with _id 0 is not electable under the new configuration")
	}
	return c, nil
}

func (s *Server) initiate(v any) bson.D {
	switch c, wrong := s.valid(v); {
	case s.Set == "":
		return no(76, "", "This node was not started with the replSet option")
	case s.config != nil && s.Version == "3.0":
		return append(no(0, "", "already initialized"), bson.E{Key: "info", Value: "try querying local.system.replset to see current configuration"})
	case s.config != nil:
		return no(23, "", "already initialized")
	case wrong != nil:
		return wrong
	default:
		for _, m := range c.Members() {
			switch other := s.network.servers[m.Host]; {
			case other == nil:
				return no(74, "", "replSetInitiate quorum check failed because not all proposed set members responded affirmatively: "+m.Host+" failed with Connection refused")
			case other.Set != s.Set:
				return no(103, "", "Our set name did not match that of "+m.Host)
			case other != s && other.config != nil:
				return no(103, "", fmt.Sprintf("Our config version of 1 is no larger than the version on %s, which is %d", m.Host, other.version()))
			}
		}
		s.config, s.state = c.Document(), secondary
		return ok()
	}
}

func (s *Server) reconfig(v any) bson.D {
	if s.config == nil {
		return no(94, "", "no replset config has been received")
	}
	if s.state != primary {
		return s.notMaster(fmt.Sprintf("replSetReconfig should only be run on PRIMARY, but my state is %s; use the \"force\" argument to override", names[s.state]))
	}
	c, wrong := s.valid(v)
	switch {
	case wrong != nil && strings.Contains(fmt.Sprint(field(wrong, "errmsg")), "maps to this node"):
		return no(103, "", fmt.Sprint(field(wrong, "errmsg"))) // another number than at the founding
	case wrong != nil:
		return wrong
	case c.Version() <= s.version():
		return no(103, "", fmt.Sprintf("New replica set configuration version must be greater than old, but %d is not greater than %d for replica set %s", c.Version(), s.version(), s.Set))
	}
	up := 0
	for _, m := range c.Members() {
		if s.network.servers[m.Host] != nil {
			up += m.Votes
		}
	}
	if up*2 <= c.Voters() {
		return no(74, "", fmt.Sprintf("Quorum check failed because not enough voting nodes responded; required %d but only the following %d voting nodes responded", c.Voters()/2+1, up))
	}
	s.config = c.Document()
	return ok()
}

// primary is the one that a member hears of.
func (n *Network) primary(s *Server) string {
	for _, m := range s.members() {
		if other := n.servers[m.Host]; other != nil && other.state == primary && other.Set == s.Set {
			return m.Host
		}
	}
	return ""
}

// spread copies the users to all members.
func (n *Network) spread(from *Server) {
	for _, m := range from.members() {
		if other := n.servers[m.Host]; other != nil && other != from {
			for k, v := range from.users {
				other.users[k] = v
			}
		}
	}
}

// beat lets every server hear of the newest configuration that names it, take one step towards SECONDARY, and one become primary.
func (n *Network) beat() {
	for _, s := range n.here() {
		for _, other := range n.servers {
			_, in := (setconf.Config{}), false
			if other.config != nil {
				c, _ := setconf.Read(other.config)
				_, in = c.Find(s.Address)
			}
			if !in || other.Set != s.Set || other.version() <= s.version() {
				continue
			}
			if s.config == nil {
				s.state = startup2
				n.spread(other)
			}
			s.config = other.config
		}
	}
	for _, s := range n.here() {
		if s.config == nil {
			continue
		}
		c, _ := setconf.Read(s.config)
		me, _ := c.Find(s.Address)
		up := 0
		for _, m := range c.Members() {
			if n.servers[m.Host] != nil {
				up += m.Votes
			}
		}
		switch majority := up*2 > c.Voters(); {
		case me.Arbiter:
			s.state = arbiter
		case s.state == startup2:
			s.state = secondary
			n.spread(s)
		case s.state == primary && (!majority || n.before(s)):
			s.state = secondary
		case s.state == secondary && majority && me.Priority > 0 && n.primary(s) == "" && !n.before(s):
			s.state = primary
		}
	}
	for _, s := range n.here() {
		s.keep()
	}
}

// here are the servers of this process.
func (n *Network) here() (all []*Server) {
	for _, s := range n.servers {
		if s.listener != nil {
			all = append(all, s)
		}
	}
	return all
}

// before tells whether a member in another process goes before this one as primary: it can be, or is, and stands before it in the configuration. Two that do not see the same at once
// agree so in the end.
func (n *Network) before(s *Server) bool {
	for _, m := range s.members() {
		if m.Host == s.Address {
			return false
		}
		if other := n.servers[m.Host]; s.Far && other != nil && m.Priority > 0 && (other.state == primary || other.state == secondary) {
			return true
		}
	}
	return false
}
