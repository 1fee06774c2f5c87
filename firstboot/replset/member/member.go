// Package member asks one mongod, of MongoDB 3.0 to 8.x, what it is in its replica set, and tells it what to be. Each call ends with its context, or after 10 seconds.
//
// A connection is a direct one, whatever set the server is in; no set's name goes with it, since a server that is in none would then not be talked to at all.
package member

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
	"go.mongodb.org/mongo-driver/mongo/readpref"

	"grove/internal/setconf"
)

// As is who asks. The zero value does not log in. Which SCRAM it is the server says: SHA-256 from 4.0 on, SHA-1 before.
type As struct{ User, Password, Database string }

// System is how the members of a set know each other: by the text of their keyFile. It needs no user to have been made.
func System(key string) As {
	return As{"__system", key, "local"}
}

// Member is an open connection. It heals itself when the server was away.
type Member struct {
	address string
	client  *mongo.Client
}

const (
	within  = 10 * time.Second // a call's end
	givenUp = 2 * time.Second  // until a server that is silent is given up
)

// Open does not connect yet.
func Open(address string, l As) (*Member, error) {
	o := options.Client().SetHosts([]string{address}).SetDirect(true).SetAppName("grove").SetServerSelectionTimeout(givenUp).SetConnectTimeout(givenUp).
		SetSocketTimeout(within).SetMaxPoolSize(2).SetHeartbeatInterval(time.Minute).SetRetryReads(false).SetRetryWrites(false).SetReadPreference(readpref.PrimaryPreferred())
	if l.User != "" {
		o.SetAuth(options.Credential{Username: l.User, Password: l.Password, AuthSource: l.Database})
	}
	client, err := mongo.Connect(context.Background(), o)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return &Member{address, client}, nil
}

// Close ends it.
func (m *Member) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_ = m.client.Disconnect(ctx) // what it still held is gone with the process at the latest
}

// Run sends one command to a database and reads its reply, if into is not nil.
func (m *Member) Run(ctx context.Context, database string, command bson.D, into any) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	reply := m.client.Database(database).RunCommand(ctx, command)
	err := reply.Err()
	if err == nil && into != nil {
		err = reply.Decode(into)
	}
	if err != nil {
		return fmt.Errorf("%s on %s: %w", command[0].Key, m.address, err)
	}
	return nil
}

// Hello is what a server says to whoever asks.
type Hello struct {
	Set        string   `bson:"setName"`
	Primary    bool     `bson:"ismaster"`
	Secondary  bool     `bson:"secondary"`
	Arbiter    bool     `bson:"arbiterOnly"`
	Leader     string   `bson:"primary"` // host and port, as far as it knows
	Hosts      []string `bson:"hosts"`
	Replicates bool     `bson:"isreplicaset"` // is meant for a set, and has no configuration of one, or is not in it
	Wire       int32    `bson:"maxWireVersion"`
}

// Standalone says that the server was not started for a set.
func (h Hello) Standalone() bool { return h.Set == "" && !h.Replicates }

// Hello needs no login. isMaster is known to all servers, hello only from late 4.x on.
func (m *Member) Hello(ctx context.Context) (h Hello, err error) {
	return h, m.Run(ctx, "admin", bson.D{{Key: "isMaster", Value: 1}}, &h)
}

// Status is replSetGetStatus, as far as it is used.
type Status struct {
	Set     string `bson:"set"`
	State   int32  `bson:"myState"`
	Members []struct {
		Name   string    `bson:"name"`
		State  string    `bson:"stateStr"`
		Health float64   `bson:"health"`
		At     time.Time `bson:"optimeDate"`
		Self   bool      `bson:"self"`
	} `bson:"members"`
	Sync struct {
		Failed    int32 `bson:"failedInitialSyncAttempts"`
		Databases struct {
			Cloned int32 `bson:"databasesCloned"`
			All    int32 `bson:"databasesToClone"`
		} `bson:"databases"`
		Copied int64 `bson:"approxTotalBytesCopied"`
		All    int64 `bson:"approxTotalDataSize"`
	} `bson:"initialSyncStatus"`
}

// Progress of an initial sync, empty when there is none. Servers before 3.4 tell none.
func (s Status) Progress() string {
	var words []string
	if d := s.Sync.Databases; d.All > 0 {
		words = append(words, fmt.Sprintf("%d of %d databases", d.Cloned, d.All))
	}
	if s.Sync.All>>20 > 0 {
		words = append(words, fmt.Sprintf("%d of %d MB", s.Sync.Copied>>20, s.Sync.All>>20))
	}
	if s.Sync.Failed > 0 {
		words = append(words, fmt.Sprintf("%d attempts failed", s.Sync.Failed))
	}
	return strings.Join(words, ", ")
}

// States are the names of the numbers in myState (MongoDB's manual, Replica Set Member States).
var states = map[int32]string{0: "STARTUP", 1: "PRIMARY", 2: "SECONDARY", 3: "RECOVERING", 5: "STARTUP2", 6: "UNKNOWN", 7: "ARBITER", 8: "DOWN", 9: "ROLLBACK", 10: "REMOVED"}

// Name is the state's.
func (s Status) Name() string {
	if name, known := states[s.State]; known {
		return name
	}
	return fmt.Sprintf("in the state %d", s.State)
}

// Status fails with Class NotYet for a server without a configuration.
func (m *Member) Status(ctx context.Context) (s Status, err error) {
	err = m.Run(ctx, "admin", bson.D{{Key: "replSetGetStatus", Value: 1}, {Key: "initialSync", Value: 1}}, &s)
	return s, err
}

// Config is the set's configuration as this member has it.
func (m *Member) Config(ctx context.Context) (setconf.Config, error) {
	var reply struct {
		Config bson.D `bson:"config"`
	}
	if err := m.Run(ctx, "admin", bson.D{{Key: "replSetGetConfig", Value: 1}}, &reply); err != nil {
		return setconf.Config{}, err
	}
	return setconf.Read(reply.Config)
}

// Initiate founds a set.
func (m *Member) Initiate(ctx context.Context, c setconf.Config) error {
	return m.Run(ctx, "admin", bson.D{{Key: "replSetInitiate", Value: c.Document()}}, nil)
}

// wireOf44 is the first whose replSetReconfig has an end of its own, and needs one: it waits until the configuration before is on a majority.
const wireOf44 = 9

// Reconfig installs a configuration at the primary. It is never forced. A version that is no longer the next one is refused with Class Stale.
func (m *Member) Reconfig(ctx context.Context, c setconf.Config) error {
	h, err := m.Hello(ctx)
	if err != nil {
		return err
	}
	command := bson.D{{Key: "replSetReconfig", Value: c.Document()}, {Key: "force", Value: false}}
	if h.Wire >= wireOf44 {
		command = append(command, bson.E{Key: "maxTimeMS", Value: int64(within/time.Millisecond) / 2})
	}
	return m.Run(ctx, "admin", command, nil)
}

// Proof gives the set whose configuration the server has on its disk, empty if there is none. A server that says it is in no set may be about to read its configuration, or may
// have been taken out of a set; this tells them apart. It wants a login as System, or a server that wants none; seen on 4.2 to 6.0, before the founding, at once after a start, and as a member.
func (m *Member) Proof(ctx context.Context) (set string, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var config struct {
		Set string `bson:"_id"`
	}
	err = m.client.Database("local").Collection("system.replset").FindOne(ctx, bson.D{}).Decode(&config)
	if err == nil || errors.Is(err, mongo.ErrNoDocuments) {
		return config.Set, nil
	}
	return "", fmt.Errorf("look for a set's configuration on %s: %w", m.address, err)
}
