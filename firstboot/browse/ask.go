package browse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
	"go.mongodb.org/mongo-driver/mongo/readpref"

	"grove/firstboot/browse/extjson"
)

// server is mongod as one of its users sees it.
type server interface {
	Databases(ctx context.Context) ([]database, error)
	Collections(ctx context.Context, db string) ([]collection, error)
	Sizes(ctx context.Context, db, name string) (sizes, error)
	Indexes(ctx context.Context, db, name string) ([]bson.Raw, error)
	// Documents gives one after the other to show, which keeps nothing of them, and says whether there are more.
	Documents(ctx context.Context, q query, show func(bson.Raw)) (more bool, err error)
	Close()
}

type database struct {
	Name string `bson:"name"`
	Size int64  `bson:"sizeOnDisk"`
}

type collection struct {
	Name string
	View bool
}

// sizes are of one collection, in bytes.
type sizes struct {
	Count     int64 `bson:"count"`
	Size      int64 `bson:"size"`
	Storage   int64 `bson:"storageSize"`
	Indexes   int64 `bson:"nindexes"`
	IndexSize int64 `bson:"totalIndexSize"`
}

// The limits on a question. A page stops early when it has read so many bytes. One document may have 16 MiB and is read whole: some 30 MiB for a moment (seen), beside the agent's
// 20; so no two questions are asked at once.
const (
	maxTime   = 5 * time.Second
	mostBytes = 1 << 20
)

var errWrong = errors.New("mongod knows no such user with this password")

// client is a connection of the driver's.
type client struct{ *mongo.Client }

// dial logs in. The driver asks for no password from a member that is an arbiter or is in no set yet; so mongod is asked who it thinks that this is.
func dial(ctx context.Context, port int, who login) (server, error) {
	c, err := mongo.Connect(ctx, options.Client().SetHosts([]string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}).SetDirect(true).SetAppName("grove browse").
		SetAuth(options.Credential{Username: who.user, Password: who.password, PasswordSet: true, AuthSource: who.source}).
		SetReadPreference(readpref.PrimaryPreferred()).SetRetryReads(false).SetMaxPoolSize(1).SetMaxConnIdleTime(time.Minute).SetHeartbeatInterval(time.Minute).
		SetServerSelectionTimeout(5*time.Second).SetConnectTimeout(5*time.Second))
	if err != nil {
		return nil, err
	}
	v := client{c}
	var is struct {
		Info struct {
			Users []struct{ User, DB string } `bson:"authenticatedUsers"`
		} `bson:"authInfo"`
	}
	err = c.Database("admin").RunCommand(ctx, bson.D{{Key: "connectionStatus", Value: 1}}).Decode(&is)
	if err == nil && (len(is.Info.Users) != 1 || is.Info.Users[0].User != who.user || is.Info.Users[0].DB != who.source) {
		err = errors.New("mongod does not check passwords now: it is an arbiter, or in no replica set yet")
	}
	if err != nil {
		v.Close()
		return nil, plain(err)
	}
	return v, nil
}

// Close takes no longer than a moment.
func (c client) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Disconnect(ctx)
}

// Databases are those that the user may know of.
func (c client) Databases(ctx context.Context) ([]database, error) {
	var all struct{ Databases []database }
	err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "listDatabases", Value: 1}, limited}).Decode(&all)
	return all.Databases, err
}

var limited = bson.E{Key: "maxTimeMS", Value: maxTime.Milliseconds()}

// Collections of a database by their names; of a user who may not list them, those that he may read.
func (c client) Collections(ctx context.Context, db string) (all []collection, err error) {
	specs, err := c.Database(db).ListCollectionSpecifications(ctx, bson.D{})
	if refused(err) {
		specs, err = c.Database(db).ListCollectionSpecifications(ctx, bson.D{}, options.ListCollections().SetNameOnly(true).SetAuthorizedCollections(true))
	}
	for _, s := range specs {
		all = append(all, collection{s.Name, s.Type == "view"})
	}
	slices.SortFunc(all, func(a, b collection) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// Sizes of a collection; a view has none.
func (c client) Sizes(ctx context.Context, db, name string) (s sizes, err error) {
	err = c.Database(db).RunCommand(ctx, bson.D{{Key: "collStats", Value: name}, limited}).Decode(&s)
	return s, err
}

// Indexes are documents as mongod describes them.
func (c client) Indexes(ctx context.Context, db, name string) (all []bson.Raw, err error) {
	cursor, err := c.Database(db).Collection(name).Indexes().List(ctx, options.ListIndexes().SetMaxTime(maxTime))
	if err != nil {
		return nil, err
	}
	err = cursor.All(ctx, &all)
	return all, err
}

// Documents reads one after the other, so that no more than one large one is held.
func (c client) Documents(ctx context.Context, q query, show func(bson.Raw)) (more bool, err error) {
	o := options.Find().SetLimit(perPage + 1).SetSkip(int64(q.from)).SetBatchSize(1).SetMaxTime(maxTime).SetSort(q.sort).SetProjection(q.projection)
	cursor, err := c.Database(q.database).Collection(q.collection).Find(ctx, q.filter, o)
	if err != nil {
		return false, err
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for n, total := 0, 0; cursor.Next(ctx); n++ {
		if n == perPage || total > mostBytes {
			return true, nil
		}
		show(cursor.Current)
		total += len(cursor.Current)
	}
	return false, cursor.Err()
}

// refused says that mongod refuses this to this user: Unauthorized (error_codes.yml).
func refused(err error) bool {
	var e mongo.CommandError
	return errors.As(err, &e) && e.Code == 13
}

// plain says in mongod's words what went wrong, without the driver's.
func plain(err error) error {
	var e mongo.CommandError
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "Authentication failed"): // code 18; the driver hides it in its own errors
		return errWrong
	case errors.As(err, &e) && e.Code == 50: // MaxTimeMSExpired
		return fmt.Errorf("this takes longer than %s; an index or a narrower filter would help", maxTime)
	case errors.As(err, &e):
		said, _, _ := strings.Cut(e.Message, " to execute command {") // what follows is the question
		return fmt.Errorf("mongod refuses: %s", extjson.Short(said, 400))
	}
	return fmt.Errorf("mongod does not answer: %s", extjson.Short(err.Error(), 400))
}
