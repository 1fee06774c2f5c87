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

// Asker asks the node's own mongod for its counters, without a login. It keeps one connection: mongod writes two lines to its log for each new one.
type Asker struct {
	mu      sync.Mutex
	client  *mongo.Client
	port    int
	refused int // pid of a mongod that wants a login: it writes a line to its log each time it is asked without one
}

var errLogin = errors.New("mongod wants a login")

// Status gives serverStatus of the mongod on this port of the loopback address. One that has refused is not asked again.
func (a *Asker) Status(ctx context.Context, port, pid int) (bson.Raw, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused == pid && pid != 0 {
		return nil, errLogin
	}
	if a.client != nil && a.port != port {
		a.close()
	}
	if a.client == nil {
		client, err := mongo.Connect(ctx, options.Client().SetHosts([]string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}).SetDirect(true).SetAppName("grove metrics").
			SetMaxPoolSize(1).SetHeartbeatInterval(time.Minute).SetServerSelectionTimeout(askingMe).SetConnectTimeout(askingMe).SetRetryReads(false))
		if err != nil {
			return nil, err
		}
		a.client, a.port = client, port
	}
	told, err := a.client.Database("admin").RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}, {Key: "locks", Value: 0}, {Key: "repl", Value: 0}, {Key: "tcmalloc", Value: 0}}).DecodeBytes()
	var e mongo.CommandError
	if errors.As(err, &e) && (e.Code == 13 || e.Name == "Unauthorized") {
		a.refused = pid
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
