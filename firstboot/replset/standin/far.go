package standin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/mongo/driver/wiremessage"

	"grove/internal/setconf"
)

// heartbeat is the command by which members in different processes tell each other how they are. A mongod's has this name too, but carries no users.
const heartbeat = "replSetHeartbeat"

const (
	every   = time.Second     // a mongod's is 2 s
	patient = 2 * time.Second // until a member is taken to be down; a mongod's is 10 s
)

// pulse asks the members of the configuration how they are, until ctx ends.
func (s *Server) pulse(ctx context.Context) {
	for ctx.Err() == nil {
		s.network.mu.Lock()
		members := s.members()
		s.network.mu.Unlock()
		s.visit(ctx, members)
		select {
		case <-ctx.Done():
		case <-time.After(every):
		}
	}
}

// askFirst looks for the members of a configuration that is proposed, for it is refused unless most of them are there.
func (s *Server) askFirst(ctx context.Context, q query) {
	if !s.Far || len(q.document) == 0 || q.document[0].Key != "replSetInitiate" && q.document[0].Key != "replSetReconfig" {
		return
	}
	if doc, is := q.document[0].Value.(bson.D); is {
		if c, err := setconf.Read(doc); err == nil {
			s.visit(ctx, c.Members())
		}
	}
}

// visit asks members how they are. One that does not answer is down.
func (s *Server) visit(ctx context.Context, members []setconf.Member) {
	for _, m := range members {
		if m.Host == s.Address {
			continue
		}
		s.network.mu.Lock()
		mine := s.report()
		s.network.mu.Unlock()
		said, err := ask(ctx, m.Host, append(bson.D{{Key: heartbeat, Value: s.Set}}, mine...))
		s.network.mu.Lock()
		if err == nil {
			err = s.hear(said)
		}
		if err != nil {
			delete(s.network.servers, m.Host)
		}
		s.network.beat()
		s.network.mu.Unlock()
	}
}

// report is what a server tells of itself.
func (s *Server) report() bson.D {
	d := bson.D{{Key: "from", Value: s.Address}, {Key: "set", Value: s.Set}, {Key: "key", Value: s.proof()}, {Key: "state", Value: s.state}, {Key: "users", Value: s.everyUser()}}
	if s.config != nil {
		d = append(d, bson.E{Key: "config", Value: s.config})
	}
	return d
}

// everyUser is a document of passwords by name, in order.
func (s *Server) everyUser() bson.D {
	d := bson.D{}
	for _, name := range slices.Sorted(maps.Keys(s.users)) {
		d = append(d, bson.E{Key: name, Value: s.users[name]})
	}
	return d
}

// proof is that of having the keyFile.
func (s *Server) proof() string {
	sum := sha256.Sum256([]byte(s.Key))
	return hex.EncodeToString(sum[:])
}

// hear takes what another server tells of itself. What a primary has for users its members have too.
func (s *Server) hear(d bson.D) error {
	from, is := field(d, "from").(string)
	if !is || field(d, "key") != s.proof() {
		return fmt.Errorf("heartbeat of %v: it is no member with this key: %v", from, field(d, "errmsg"))
	}
	other := &Server{Version: s.Version, Address: from, network: s.network, users: map[string]string{}}
	other.Set, _ = field(d, "set").(string)
	other.state, _ = field(d, "state").(int32)
	other.config, _ = field(d, "config").(bson.D)
	users, _ := field(d, "users").(bson.D)
	for _, u := range users {
		other.users[u.Key], _ = u.Value.(string)
	}
	s.network.servers[from] = other
	if c, err := setconf.Read(other.config); err == nil && other.state == primary && s.state != primary {
		if _, in := c.Find(s.Address); in && other.Set == s.Set {
			s.users = other.users
		}
	}
	return nil
}

// ask sends one command to the server at an address.
func ask(ctx context.Context, address string, command bson.D) (bson.D, error) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	end, _ := ctx.Deadline()
	if err := conn.SetDeadline(end); err != nil {
		return nil, err
	}
	index, msg := wiremessage.AppendHeaderStart(nil, 1, 0, wiremessage.OpQuery)
	msg = wiremessage.AppendQueryFlags(msg, wiremessage.SecondaryOK)
	msg = wiremessage.AppendQueryFullCollectionName(msg, "admin.$cmd")
	msg = wiremessage.AppendQueryNumberToSkip(msg, 0)
	msg = wiremessage.AppendQueryNumberToReturn(msg, -1)
	if err := send(conn, index, msg, []bson.D{command}); err != nil {
		return nil, err
	}
	_, _, body, err := message(conn)
	const before = 20 // of an OP_REPLY's documents: flags, cursor, where it starts, how many
	if err != nil || len(body) < before {
		return nil, errors.Join(errors.New("no reply"), err)
	}
	var said bson.D
	return said, bson.Unmarshal(body[before:], &said)
}

// remember reads what was kept.
func (s *Server) remember() error {
	if s.Keep == "" {
		return nil
	}
	text, err := os.ReadFile(s.Keep)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var d struct {
		Config bson.D
		Users  map[string]string
	}
	if err := bson.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("read %s: %w", s.Keep, err)
	}
	s.kept = text
	if d.Users != nil {
		s.users = d.Users
	}
	if d.Config != nil {
		s.config, s.state = d.Config, secondary
	}
	return nil
}

// keep writes down what is new, whole or not at all.
func (s *Server) keep() {
	if s.Keep == "" {
		return
	}
	text, err := bson.Marshal(bson.D{{Key: "config", Value: s.config}, {Key: "users", Value: s.everyUser()}})
	if err == nil && !bytes.Equal(text, s.kept) {
		if err = os.WriteFile(s.Keep+".new", text, 0o600); err == nil {
			err = os.Rename(s.Keep+".new", s.Keep)
		}
		s.kept = text
	}
	if err != nil && s.Unkept != nil {
		s.Unkept(err)
	}
}
