// Package user makes a new set's first users: the operator, for persons, and the agent, which every node logs in as. Each step may be the last before a crash; the next call
// goes on from there, and does nothing when all is done.
//
// The first is made by whoever asks from the node itself, as long as there is none (MongoDB's localhost exception, which ends with it); all else is made as the operator. An
// operator's password that was changed since is no fault as long as the agent can log in.
package user

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"

	"grove/firstboot/replset/member"
	"grove/internal/settings"
	"grove/internal/spec"
)

// Roles of the operator are those that the write-up of 2015 gave its admin: they manage the set and all users and read all data; to write, a user is made for it.
var operatorRoles = primitive.A{"clusterAdmin", "userAdminAnyDatabase", "readAnyDatabase"}

// agentActions are what the agent does with the server beside asking who it is. It reads no data.
var agentActions = primitive.A{"getCmdLineOpts", "getLog", "getParameter", "listDatabases", "replSetConfigure", "replSetGetConfig", "replSetGetStatus", "serverStatus"}

// Agent is the agent's login. Its password follows from the cluster's key, so that no node has to be told of one more secret.
func Agent(key spec.Secret) member.As {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(settings.AgentUser))
	return member.As{User: settings.AgentUser, Password: base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), Database: "admin"}
}

func operator(s spec.Secrets) member.As {
	return member.As{User: s.Operator.User, Password: string(s.Operator.Password), Database: "admin"}
}

// Ensure makes what is missing, at the set's primary, which listens at this address of the node's own. arbiters says that the set is to have some.
func Ensure(ctx context.Context, address string, s spec.Secrets, arbiters bool) error {
	if s.Key == "" { // a node without a set: nobody but the operator logs in
		err := try(ctx, address, operator(s))
		if member.Classify(err) == member.Denied {
			err = first(ctx, address, s.Operator)
		}
		return err
	}
	if err := try(ctx, address, Agent(s.Key)); err == nil || member.Classify(err) != member.Denied {
		return err
	}
	if s.Operator.User == "" {
		return member.Fault("the set has no users yet, and node.yaml no secrets.operator to make the first one")
	}
	if err := try(ctx, address, operator(s)); member.Classify(err) == member.Denied {
		err = first(ctx, address, s.Operator)
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return agent(ctx, address, s, arbiters)
}

// try logs in.
func try(ctx context.Context, address string, as member.As) error {
	m, err := member.Open(address, as)
	if err != nil {
		return err
	}
	defer m.Close()
	return m.Run(ctx, "admin", bson.D{{Key: "connectionStatus", Value: 1}}, nil)
}

// first makes the operator without logging in.
func first(ctx context.Context, address string, o spec.Operator) error {
	m, err := member.Open(address, member.As{})
	if err != nil {
		return err
	}
	defer m.Close()
	err = m.Run(ctx, "admin", bson.D{{Key: "createUser", Value: o.User}, {Key: "pwd", Value: string(o.Password)}, {Key: "roles", Value: operatorRoles}}, nil)
	switch member.Classify(err) {
	case member.Denied:
		return member.Fault(fmt.Sprintf("make the first user, %s: there are users already, and neither %s nor %s can log in with what node.yaml has: correct secrets.operator.password or secrets.key there", o.User, o.User, settings.AgentUser))
	case member.Done:
		return nil // made now, or by an agent that crashed before it knew
	}
	return fmt.Errorf("make the first user, %s: %w", o.User, err)
}

// agent makes the agent's role and user, as the operator.
func agent(ctx context.Context, address string, s spec.Secrets, arbiters bool) error {
	m, err := member.Open(address, operator(s))
	if err != nil {
		return err
	}
	defer m.Close()
	name, password := settings.AgentUser, Agent(s.Key).Password
	privileges := primitive.A{bson.D{{Key: "resource", Value: bson.D{{Key: "cluster", Value: true}}}, {Key: "actions", Value: agentActions}}}
	if arbiters {
		if err := surely(ctx, m); err != nil {
			return err
		}
	}
	for _, step := range []struct {
		make, change string
		fields       bson.D
	}{
		{"createRole", "updateRole", bson.D{{Key: "privileges", Value: privileges}, {Key: "roles", Value: primitive.A{}}}},
		{"createUser", "updateUser", bson.D{{Key: "pwd", Value: password}, {Key: "roles", Value: primitive.A{name}}}},
	} {
		err := m.Run(ctx, "admin", append(bson.D{{Key: step.make, Value: name}}, step.fields...), nil)
		if code := member.Code(err); code == 51002 || code == 51003 { // it exists
			err = m.Run(ctx, "admin", append(bson.D{{Key: step.change, Value: name}}, step.fields...), nil)
		}
		if err != nil {
			return fmt.Errorf("as %s: %w", s.Operator.User, err)
		}
	}
	return nil
}

// wireOf50 is the first whose writes are acknowledged by the majority of themselves, but not in a set with an arbiter, whose coming it refuses as long as the operator has
// not said which it is to be (repl_set_config_checks.cpp). An acknowledged write that may be lost is not what anybody expects.
const wireOf50 = 13

func surely(ctx context.Context, m *member.Member) error {
	h, err := m.Hello(ctx)
	if err != nil || h.Wire < wireOf50 {
		return err
	}
	return m.Run(ctx, "admin", bson.D{{Key: "setDefaultRWConcern", Value: 1}, {Key: "defaultWriteConcern", Value: bson.D{{Key: "w", Value: "majority"}}}}, nil)
}
