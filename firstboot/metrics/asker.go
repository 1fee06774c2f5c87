package metrics

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
)

// Asker asks the node's own mongod for its counters. It keeps one connection: mongod writes two lines to its log for each new one.
type Asker struct {
	mu      sync.Mutex
	client  *mongo.Client
	port    int
	user    string
	refused refusal
}

// refusal is by a mongod that wants another login: it writes a line to its log each time it is asked with the wrong one.
type refusal struct {
	pid  int
	user string
}

var errLogin = errors.New("mongod wants a login")

// Status gives serverStatus of the mongod on this port of the loopback address, without a login where user is empty. One that has refused is not asked again by the same user.
func (a *Asker) Status(ctx context.Context, port, pid int, user, password string) (bson.Raw, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused == (refusal{pid, user}) && pid != 0 {
		return nil, errLogin
	}
	if a.client != nil && (a.port != port || a.user != user) {
		a.close()
	}
	if a.client == nil {
		o := options.Client().SetHosts([]string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}).SetDirect(true).SetAppName("grove metrics").
			SetMaxPoolSize(1).SetHeartbeatInterval(time.Minute).SetServerSelectionTimeout(askingMe).SetConnectTimeout(askingMe).SetRetryReads(false)
		if user != "" {
			o.SetAuth(options.Credential{Username: user, Password: password, AuthSource: "admin"})
		}
		client, err := mongo.Connect(ctx, o)
		if err != nil {
			return nil, err
		}
		a.client, a.port, a.user = client, port, user
	}
	told, err := a.client.Database("admin").RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}, {Key: "locks", Value: 0}, {Key: "repl", Value: 0}, {Key: "tcmalloc", Value: 0}}).DecodeBytes()
	var e mongo.CommandError
	if errors.As(err, &e) && (e.Code == 13 || e.Name == "Unauthorized") {
		a.refused = refusal{pid, user}
		a.close()
	}
	return told, err
}

// Close hangs up; the next question connects anew.
func (a *Asker) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.close()
}

// close is called locked.
func (a *Asker) close() {
	if a.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = a.client.Disconnect(ctx)
	a.client = nil
}
