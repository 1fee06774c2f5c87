// Package mongod is what the agent knows of the server: how it is started, when it answers, and what its log said last.
package mongod

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"

	"grove/firstboot/status"
	"grove/internal/host"
	"grove/internal/mongoconf"
)

// The user that the server runs as, and its files beside mongoconf's.
const (
	UID  = 990
	GID  = 990
	Path = "/usr/bin/mongod"
	Conf = status.Dir + "/mongod.conf"
	PID  = status.Dir + "/mongod.pid"
	// Output is what the server prints: why it does not even start, and that its log can't be written. So it lies in RAM, which is not full when the log's disk is.
	Output = status.Dir + "/mongod.out"
)

// Daemon is the server as it is started. It is the last but PID 1 to be killed when memory runs out: it is what the node is for.
func Daemon(root string) host.Daemon {
	return host.Daemon{
		Path: Path, Args: []string{"--config", Conf}, Env: []string{"LANG=C.UTF-8", "HOME=/", "PATH=/usr/bin"}, Output: root + Output, UID: UID, GID: GID, OOMScore: -500,
	}
}

// Folders are made, or set right, before each start. What must be mounted is looked for first: a start on an empty mount point looks like the loss of all data.
func Folders(machine host.Machine, root string, at mongoconf.Places) error {
	for _, path := range at.Mounted {
		if there, err := machine.IsMountPoint(root + path); err != nil || !there {
			return errors.Join(fmt.Errorf("nothing is mounted on %s; mongod is not started on RAM", path), err)
		}
	}
	for _, path := range append([]string{at.Data, filepath.Dir(at.Log)}, at.Mounted...) {
		if err := machine.MakeDir(root+path, 0o700, UID, GID); err != nil {
			return fmt.Errorf("make mongod's folders: %w", err)
		}
	}
	return nil
}

// Ready waits until the server on this port of the loopback address answers a ping; the caller's deadline ends it, and the error says how far it came.
// The port is tried first, as that costs nothing: the driver waits half a second between its own attempts.
func Ready(ctx context.Context, port int) error {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	last := errors.New("not asked")
	for ctx.Err() == nil {
		if last = open(ctx, address); last == nil {
			if last = ping(ctx, address); last == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(25 * time.Millisecond):
		}
	}
	return fmt.Errorf("wait for an answer on %s: %w", address, last)
}

func open(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

func ping(ctx context.Context, address string) error {
	return ask(ctx, address, Login{}, func(ctx context.Context, admin *mongo.Database) error {
		return admin.RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Err()
	})
}

// Login is the agent's, once the set has its users; the zero value logs nobody in.
type Login struct{ User, Password string }

// ask connects for one question or two: no pool, and no heartbeat within it.
func ask(ctx context.Context, address string, l Login, question func(context.Context, *mongo.Database) error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	o := options.Client().SetHosts([]string{address}).SetDirect(true).SetServerSelectionTimeout(5 * time.Second).SetMaxPoolSize(1).SetHeartbeatInterval(time.Minute)
	if l.User != "" {
		o.SetAuth(options.Credential{Username: l.User, Password: l.Password, AuthSource: "admin"})
	}
	client, err := mongo.Connect(ctx, o)
	if err != nil {
		return err
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	return question(ctx, client.Database("admin"))
}
