// Package standin speaks like a mongod of 3.0 or 3.2, which no package registry has any more: OP_QUERY only, no codes in some replies, SCRAM-SHA-1, and the rules that those
// versions have for the configuration of a set. It is for tests, and for the lab of 32-bit boards, which can run nothing newer.
//
// What it leaves out: documents and their replication, the oplog, real elections (the first member that can be is primary as soon as a majority of the votes is up), write concerns,
// privileges finer than logged in or not, time. Members of one Network hear each other's configuration when anybody asks one of them anything, members in other processes (Far) once
// a second; what they tell each other, the users among it, is in clear and of a form of its own.
package standin

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/mongo/driver/wiremessage"
)

// Network is what servers of one test share.
type Network struct {
	mu      sync.Mutex
	servers map[string]*Server // by address
	next    int                // id of a set
}

// Server is one stand-in.
type Server struct {
	Version string      // 3.0 or 3.2
	Address string      // host and port, as the set names it
	Set     string      // of --replSet, empty for none
	Key     string      // of the keyFile; empty: nobody need log in
	Bypass  bool        // the localhost exception is open until there is a user
	Build   string      // what it calls itself; its version with .15
	Listen  string      // where it listens; at its address
	Far     bool        // the other members are in other processes
	Keep    string      // file that has its configuration and its users over a restart; none
	Unkept  func(error) // called when that could not be written; nobody is told

	network  *Network
	listener net.Listener
	open     sync.WaitGroup

	config bson.D // installed, nil before
	state  int32
	users  map[string]string                  // password by database.name
	stored map[string]scram.StoredCredentials // by digest of a password
	fails  map[string]bson.D
	kept   []byte // what Keep has
}

// Serve listens until ctx ends.
func (s *Server) Serve(ctx context.Context, n *Network) error {
	if s.Listen == "" {
		s.Listen = s.Address
	}
	if s.Build == "" {
		s.Build = s.Version + ".15"
	}
	if s.users == nil {
		s.users = map[string]string{}
	}
	if err := s.remember(); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Listen)
	if err != nil {
		return err
	}
	n.mu.Lock()
	if n.servers == nil {
		n.servers = map[string]*Server{}
	}
	s.network, s.listener = n, l
	n.servers[s.Address] = s
	n.mu.Unlock()
	if s.Far {
		s.open.Go(func() { s.pulse(ctx) })
	}
	go func() {
		stop := context.AfterFunc(ctx, func() { l.Close() })
		defer stop()
		for {
			conn, err := l.Accept()
			if err != nil {
				n.mu.Lock()
				delete(n.servers, s.Address)
				n.mu.Unlock()
				return
			}
			s.open.Go(func() { s.talk(ctx, conn) })
		}
	}()
	return nil
}

// Wait returns when no connection is open any more.
func (s *Server) Wait() { s.open.Wait() }

// Fail has the next command of this name answered with an error: its number (0: the reply has none), its name and its text.
func (s *Server) Fail(command string, code int32, name, text string) {
	s.network.mu.Lock()
	defer s.network.mu.Unlock()
	if s.fails == nil {
		s.fails = map[string]bson.D{}
	}
	s.fails[command] = no(code, name, text)
}

// no is an error's reply. Servers before 3.4 give no codeName.
func no(code int32, name, text string) bson.D {
	d := bson.D{{Key: "ok", Value: 0.0}, {Key: "errmsg", Value: text}}
	if code != 0 {
		d = append(d, bson.E{Key: "code", Value: code})
	}
	if name != "" {
		d = append(d, bson.E{Key: "codeName", Value: name})
	}
	return d
}

// talk answers one connection's queries.
func (s *Server) talk(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	var who session
	for {
		id, query, err := read(conn)
		if err != nil {
			return
		}
		s.askFirst(ctx, query)
		s.network.mu.Lock()
		reply := s.answer(&who, query)
		s.network.beat()
		s.network.mu.Unlock()
		if err := write(conn, id, reply); err != nil {
			return
		}
	}
}

// query is an OP_QUERY: of a collection, or of $cmd.
type query struct {
	namespace string
	document  bson.D
}

// A message of these servers is at most 48 MB; what a member is asked is short.
const longest = 1 << 20

func read(conn io.Reader) (id int32, q query, err error) {
	id, op, body, err := message(conn)
	if err != nil {
		return id, q, err
	}
	if op != wiremessage.OpQuery {
		return id, q, fmt.Errorf("the message %s, which these servers do not know", op)
	}
	_, rest, ok1 := wiremessage.ReadQueryFlags(body)
	name, rest, ok2 := wiremessage.ReadQueryFullCollectionName(rest)
	_, rest, ok3 := wiremessage.ReadQueryNumberToSkip(rest)
	_, rest, ok4 := wiremessage.ReadQueryNumberToReturn(rest)
	doc, _, ok5 := wiremessage.ReadQueryQuery(rest)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 {
		return id, q, errors.New("a query that is cut off")
	}
	q.namespace = name
	if err = bson.Unmarshal(doc, &q.document); err != nil {
		return id, q, err
	}
	if len(q.document) > 0 && q.document[0].Key == "$query" { // with a read preference beside it
		q.document, _ = q.document[0].Value.(bson.D)
	}
	return id, q, nil
}

func message(conn io.Reader) (id int32, op wiremessage.OpCode, body []byte, err error) {
	head := make([]byte, 16)
	if _, err = io.ReadFull(conn, head); err != nil {
		return 0, op, nil, err
	}
	length, id, _, op, _, _ := wiremessage.ReadHeader(head)
	if length < 16 || length > longest {
		return id, op, nil, fmt.Errorf("a message of %d bytes", length)
	}
	body = make([]byte, length-16)
	_, err = io.ReadFull(conn, body)
	return id, op, body, err
}

func write(conn io.Writer, to int32, documents []bson.D) error {
	index, msg := wiremessage.AppendHeaderStart(nil, 0, to, wiremessage.OpReply)
	msg = wiremessage.AppendReplyFlags(msg, wiremessage.AwaitCapable)
	msg = wiremessage.AppendReplyCursorID(msg, 0)
	msg = wiremessage.AppendReplyStartingFrom(msg, 0)
	msg = wiremessage.AppendReplyNumberReturned(msg, int32(len(documents)))
	return send(conn, index, msg, documents)
}

// send ends a message with its documents and its length.
func send(conn io.Writer, index int32, msg []byte, documents []bson.D) error {
	for _, d := range documents {
		data, err := bson.Marshal(d)
		if err != nil {
			return err
		}
		msg = append(msg, data...)
	}
	binary.LittleEndian.PutUint32(msg[index:], uint32(len(msg)))
	_, err := conn.Write(msg)
	return err
}
