package probe

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
)

// Role is what a mongod says of itself in its set.
type Role struct {
	Set     string `bson:"setName"`
	Primary bool   `bson:"ismaster"`
	Second  bool   `bson:"secondary"`
	Arbiter bool   `bson:"arbiterOnly"`
}

// String is a person's word for it.
func (r Role) String() string {
	switch {
	case r.Set == "":
		return "in no set"
	case r.Primary:
		return "primary"
	case r.Second:
		return "secondary"
	case r.Arbiter:
		return "arbiter"
	}
	return "not ready"
}

// Role needs no login. isMaster is what every server since 2.4 knows.
func (s Server) Role(ctx context.Context) (r Role, err error) {
	err = s.with(ctx, func(ctx context.Context, c *mongo.Client) error {
		if err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "isMaster", Value: 1}}).Decode(&r); err != nil {
			return fmt.Errorf("ask mongod at %s for its part in the set: %w", s.Address, err)
		}
		return nil
	})
	return r, err
}

// MakeWriter makes a user who may write the lab's documents, and nothing else; the operator may not. One that is there already is well.
func (s Server) MakeWriter(ctx context.Context, user, password string) error {
	return s.with(ctx, func(ctx context.Context, c *mongo.Client) error {
		role := bson.D{{Key: "role", Value: "readWrite"}, {Key: "db", Value: database}}
		err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "createUser", Value: user}, {Key: "pwd", Value: password}, {Key: "roles", Value: bson.A{role}}}).Err()
		var said mongo.CommandError
		if errors.As(err, &said) && said.Code == userExists {
			return nil
		}
		if err != nil {
			return fmt.Errorf("make a user on mongod at %s: %w", s.Address, err)
		}
		return nil
	})
}

// userExists is the server's number for it (src/mongo/base/error_codes.yml, Location51003).
const userExists = 51003

// Member is one of a set's, as its configuration has it.
type Member struct {
	ID    int    `bson:"_id"`
	Host  string `bson:"host"` // with the port
	Votes int    `bson:"votes"`
}

// Members asks for the set's configuration.
func (s Server) Members(ctx context.Context) ([]Member, error) {
	var reply struct {
		Config struct {
			Members []Member `bson:"members"`
		} `bson:"config"`
	}
	err := s.with(ctx, func(ctx context.Context, c *mongo.Client) error {
		if err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "replSetGetConfig", Value: 1}}).Decode(&reply); err != nil {
			return fmt.Errorf("ask mongod at %s for the set's configuration: %w", s.Address, err)
		}
		return nil
	})
	return reply.Config.Members, err
}
