package agent

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"

	"grove/firstboot/mongod"
	"grove/firstboot/replset"
	"grove/firstboot/replset/user"
	"grove/firstboot/status"
	"grove/internal/mongoconf"
)

// keyFile is the members' common secret, as mongod reads it. It lies in RAM, and goes with the power.
const keyFile = status.Dir + "/mongod.key"

// mongodAccess is who may do what at mongod, for its configuration. A set with access control is nothing without a key: mongod is not started before somebody reads why.
func (a *Agent) mongodAccess(ctx context.Context) (mongoconf.Access, error) {
	s, known := a.settings(ctx)
	if !known {
		return mongoconf.Access{}, ctx.Err()
	}
	access := mongoconf.Access{Set: s.ReplicaSet.Name}
	if mongoconf.Open(a.image.Mongod.Config) {
		return access, nil
	}
	first := access.Set == ""
	if access.Set != "" {
		key := a.settled.secrets.Key
		if key == "" {
			return access, errors.New("the recipe has a replica set and access control, and the node's node.yaml has no secrets.key; `grove node secrets` makes one, `grove node write --secrets` puts it there")
		}
		access.KeyFile = keyFile
		a.presence.Named(ctx)
		name, _ := a.presence.First()
		first = name == s.ReplicaSet.Members[0].Host
	}
	access.FirstUser = first && !replset.HasUsers(a.Root+replset.File)
	return access, nil
}

// beginSet comes before each start of mongod. The key is written anew: mongod does not start with one that others can read.
func (a *Agent) beginSet() error {
	if a.settled.value.ReplicaSet.Name == "" {
		return nil
	}
	if key := a.settled.secrets.Key; key != "" && !mongoconf.Open(a.image.Mongod.Config) {
		if err := a.Machine.WriteFor(a.Root+keyFile, []byte(key), mongod.UID, mongod.GID); err != nil {
			return err
		}
	}
	return replset.Begin(a.Root + a.places.Data)
}

// join has the node become a member of its set, and stay one; without a set it only has mongod get its first user, if node.yaml names one.
func (a *Agent) join(ctx context.Context, port int) {
	s, open := a.settled.value.ReplicaSet, mongoconf.Open(a.image.Mongod.Config)
	if s.Name == "" && (open || a.settled.secrets.Operator.User == "") {
		return
	}
	a.presence.Named(ctx)
	select { // what is asked before is only written to mongod's log
	case <-a.answered:
	case <-ctx.Done():
		return
	}
	name, _ := a.presence.First()
	site := replset.Site{
		Set: s, Self: name, Port: port, Local: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Open: open, Secrets: a.settled.secrets,
		Foreign: func() bool { return replset.Foreign(a.Root + a.places.Data) }, Own: a.ownAddresses,
		Path: func() string { return a.voice.Wrong("neighbours mtu") }, Uptime: a.voice.Uptime, Node: a.voice.On("set"),
	}
	if a.state.mounted {
		site.File = a.Root + replset.File
	}
	site.Run(ctx)
}

func (a *Agent) ownAddresses() (all []netip.Addr) {
	for _, p := range a.Addresses() {
		all = append(all, p.Addr())
	}
	return all
}

// login is the agent's own at mongod, once it can be used. An arbiter has no users, and gives its counters to nobody.
func (a *Agent) login() mongod.Login {
	if set := a.voice.Status().Set; !set.Users || set.Role == "arbiter" || a.settled.secrets.Key == "" || mongoconf.Open(a.image.Mongod.Config) {
		return mongod.Login{}
	}
	as := user.Agent(a.settled.secrets.Key)
	return mongod.Login{User: as.User, Password: as.Password}
}
