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

// with connects, does one thing and disconnects.
func with(ctx context.Context, address string, do func(context.Context, *mongo.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client, err := mongo.Connect(ctx, options.Client().SetHosts([]string{address}).SetDirect(true).SetAppName("grove lab").
		SetConnectTimeout(3*time.Second).SetServerSelectionTimeout(3*time.Second).SetSocketTimeout(5*time.Second).
		SetRetryReads(false).SetRetryWrites(false)) // who asks looks again itself, or wants to know
	if err != nil {
		return fmt.Errorf("connect to mongod at %s: %w", address, err)
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	return do(ctx, client)
}

// Ping gives mongod's version.
func Ping(ctx context.Context, address string) (version string, err error) {
	err = with(ctx, address, func(ctx context.Context, c *mongo.Client) error {
		if err := c.Ping(ctx, nil); err != nil {
			return fmt.Errorf("ping mongod at %s: %w", address, err)
		}
		var info struct {
			Version string `bson:"version"`
		}
		if err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&info); err != nil {
			return fmt.Errorf("ask mongod at %s for its version: %w", address, err)
		}
		version = info.Version
		return nil
	})
	return version, err
}

// database and collection are the lab's own on a node under test.
const database, collection = "grove_lab", "marks"

// Write puts a document there that is on disk when it returns.
func Write(ctx context.Context, address, mark string) error {
	return with(ctx, address, func(ctx context.Context, c *mongo.Client) error {
		journaled := options.Collection().SetWriteConcern(writeconcern.New(writeconcern.W(1), writeconcern.J(true)))
		_, err := c.Database(database).Collection(collection, journaled).InsertOne(ctx, bson.D{{Key: "_id", Value: mark}})
		if err != nil {
			return fmt.Errorf("write to mongod at %s: %w", address, err)
		}
		return nil
	})
}

// Read finds the document again.
func Read(ctx context.Context, address, mark string) error {
	return with(ctx, address, func(ctx context.Context, c *mongo.Client) error {
		err := c.Database(database).Collection(collection).FindOne(ctx, bson.D{{Key: "_id", Value: mark}}).Err()
		if err != nil {
			return fmt.Errorf("read what was written to mongod at %s: %w", address, err)
		}
		return nil
	})
}
