// Package probe looks at a mongod from outside, through its forwarded port, with MongoDB's own driver: does it answer, does it keep what is written.
//
// The connection is a direct one: a member is asked itself, whatever set it belongs to. Every call ends within 10 seconds.
package probe

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
	"go.mongodb.org/mongo-driver/mongo/writeconcern"
)

// Server is a mongod, and who asks it. Without a user nobody logs in.
type Server struct {
	Address        string
	User, Password string
}

// with connects, does one thing and disconnects.
func (s Server) with(ctx context.Context, do func(context.Context, *mongo.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	return do(ctx, client)
}

func (s Server) connect(ctx context.Context) (*mongo.Client, error) {
	o := options.Client().SetHosts([]string{s.Address}).SetDirect(true).SetAppName("grove lab").
		SetConnectTimeout(3 * time.Second).SetServerSelectionTimeout(3 * time.Second).SetSocketTimeout(5 * time.Second).
		SetRetryReads(false).SetRetryWrites(false) // who asks looks again itself, or wants to know
	if s.User != "" {
		o.SetAuth(options.Credential{Username: s.User, Password: s.Password, AuthSource: "admin"})
	}
	client, err := mongo.Connect(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("connect to mongod at %s: %w", s.Address, err)
	}
	return client, nil
}

// Ping gives mongod's version.
func (s Server) Ping(ctx context.Context) (version string, err error) {
	err = s.with(ctx, func(ctx context.Context, c *mongo.Client) error {
		if err := c.Ping(ctx, nil); err != nil {
			return fmt.Errorf("ping mongod at %s: %w", s.Address, err)
		}
		var info struct {
			Version string `bson:"version"`
		}
		if err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&info); err != nil {
			return fmt.Errorf("ask mongod at %s for its version: %w", s.Address, err)
		}
		version = info.Version
		return nil
	})
	return version, err
}

// database and collection are the lab's own on a node under test.
const database, collection = "grove_lab", "marks"

// journaled is acknowledged once it is on disk, of a set's primary on most of the set's disks.
var journaled = options.Collection().SetWriteConcern(writeconcern.New(writeconcern.WMajority(), writeconcern.J(true)))

// Write puts a document there that is on disk when it returns.
func (s Server) Write(ctx context.Context, mark string) error {
	return s.with(ctx, func(ctx context.Context, c *mongo.Client) error { return s.insert(ctx, c, mark) })
}

func (s Server) insert(ctx context.Context, c *mongo.Client, mark string) error {
	_, err := c.Database(database).Collection(collection, journaled).InsertOne(ctx, bson.D{{Key: "_id", Value: mark}})
	if err != nil {
		return fmt.Errorf("write to mongod at %s: %w", s.Address, err)
	}
	return nil
}

// WriteAll writes one document after the other over one connection, until one is not acknowledged within 10 seconds.
func (s Server) WriteAll(ctx context.Context, next func() string, acknowledged func(mark string)) error {
	client, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	for {
		mark := next()
		one, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := s.insert(one, client, mark)
		cancel()
		if err != nil {
			return err
		}
		acknowledged(mark)
	}
}

// Marks counts how many of these documents are there.
func (s Server) Marks(ctx context.Context, marks []string) (found int64, err error) {
	const atOnce = 10_000 // of a query's 16 MB
	for begin := 0; begin < len(marks) && err == nil; begin += atOnce {
		err = s.with(ctx, func(ctx context.Context, c *mongo.Client) error {
			some := marks[begin:min(begin+atOnce, len(marks))]
			n, err := c.Database(database).Collection(collection).CountDocuments(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: some}}}})
			found += n
			return err
		})
	}
	return found, err
}

// Read finds the document again.
func (s Server) Read(ctx context.Context, mark string) error {
	return s.with(ctx, func(ctx context.Context, c *mongo.Client) error {
		err := c.Database(database).Collection(collection).FindOne(ctx, bson.D{{Key: "_id", Value: mark}}).Err()
		if err != nil {
			return fmt.Errorf("read what was written to mongod at %s: %w", s.Address, err)
		}
		return nil
	})
}
