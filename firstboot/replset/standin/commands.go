package standin

import (
	"crypto/md5"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// session is what a server knows of a connection.
type session struct {
	user string // database.name, empty before it has logged in
	sasl *scram.ServerConversation
	db   string
}

var free = map[string]bool{"ismaster": true, "isMaster": true, "buildInfo": true, "buildinfo": true, "ping": true, "saslStart": true, "saslContinue": true, "connectionStatus": true, heartbeat: true}

// answer is called with the network locked.
func (s *Server) answer(who *session, q query) []bson.D {
	database, collection, _ := strings.Cut(q.namespace, ".")
	if collection != "$cmd" {
		return s.find(who, q.namespace)
	}
	if len(q.document) == 0 {
		return []bson.D{no(59, "", "no such cmd: ")}
	}
	name := q.document[0].Key
	if d, fails := s.fails[name]; fails {
		delete(s.fails, name)
		return []bson.D{d}
	}
	if first := name == "createUser" && s.Bypass && len(s.users) == 0; s.Key != "" && who.user == "" && !free[name] && !first {
		return []bson.D{no(13, "", "not authorized on "+database+" to execute command { "+name+": 1 }")}
	}
	return []bson.D{s.command(who, database, name, q.document)}
}

func (s *Server) command(who *session, database, name string, d bson.D) bson.D {
	switch name {
	case "ismaster", "isMaster":
		return s.isMaster()
	case "buildInfo", "buildinfo":
		return ok(bson.E{Key: "version", Value: s.Build})
	case "ping", "connectionStatus":
		return ok()
	case "saslStart":
		return s.saslStart(who, database, d)
	case "saslContinue":
		return s.saslContinue(who, d)
	case heartbeat:
		if err := s.hear(d); err != nil {
			return no(13, "", err.Error())
		}
		return ok(s.report()...)
	case "replSetGetStatus":
		return s.status()
	case "replSetGetConfig":
		if s.config == nil {
			return no(94, "", "no replset config has been received")
		}
		return ok(bson.E{Key: "config", Value: s.config})
	case "replSetInitiate":
		return s.initiate(field(d, name))
	case "replSetReconfig":
		return s.reconfig(field(d, name))
	case "replSetStepDown":
		if s.state != primary {
			return s.notMaster("not primary so can't step down")
		}
		s.state = secondary
		return ok()
	case "createUser", "createRole", "updateRole", "updateUser":
		return s.user(database, name, d)
	case "find":
		return ok(bson.E{Key: "cursor", Value: bson.D{{Key: "id", Value: int64(0)}, {Key: "ns", Value: database + "." + fmt.Sprint(field(d, "find"))},
			{Key: "firstBatch", Value: s.documents(database + "." + fmt.Sprint(field(d, "find")))}}})
	}
	return no(59, "", "no such command: '"+name+"', bad cmd")
}

func ok(more ...bson.E) bson.D { return append(more, bson.E{Key: "ok", Value: 1.0}) }

// find is the old query of a collection.
func (s *Server) find(who *session, namespace string) (all []bson.D) {
	if s.Key != "" && who.user == "" {
		return []bson.D{{{Key: "$err", Value: "not authorized for query on " + namespace}, {Key: "code", Value: int32(13)}}}
	}
	for _, d := range s.documents(namespace) {
		all = append(all, d.(bson.D))
	}
	return all
}

func (s *Server) documents(namespace string) bson.A {
	if namespace == "local.system.replset" && s.config != nil {
		return bson.A{s.config}
	}
	return bson.A{}
}

// notMaster has no number in 3.0.
func (s *Server) notMaster(text string) bson.D {
	if s.Version == "3.0" {
		return no(0, "", text)
	}
	return no(10107, "", text)
}

func (s *Server) user(database, name string, d bson.D) bson.D {
	if s.Set != "" && s.state != primary {
		return s.notMaster("not master")
	}
	who := fmt.Sprint(field(d, name))
	_, exists := s.users[database+"."+who]
	switch {
	case name == "createUser" && exists:
		return no(51003, "", fmt.Sprintf("User %q already exists", who+"@"+database))
	case name == "createUser", name == "updateUser":
		s.users[database+"."+who] = fmt.Sprint(field(d, "pwd"))
		s.network.spread(s)
	}
	return ok()
}

// lookup gives the credentials of SCRAM-SHA-1, which is over MongoDB's old digest of the password.
func (s *Server) lookup(db string) scram.CredentialLookup {
	return func(user string) (scram.StoredCredentials, error) {
		password, known := s.users[db+"."+user]
		if db == "local" && user == "__system" && s.Key != "" {
			password, known = s.Key, true
		}
		if !known {
			return scram.StoredCredentials{}, fmt.Errorf("no user %s", user)
		}
		return s.derived(user, password)
	}
}

// derived are the credentials that a mongod stores of a password; they take as long as a log-in, so they are made once.
func (s *Server) derived(user, password string) (scram.StoredCredentials, error) {
	sum := md5.Sum([]byte(user + ":mongo:" + password))
	digest := hex.EncodeToString(sum[:])
	if stored, made := s.stored[digest]; made {
		return stored, nil
	}
	c, err := scram.HashGeneratorFcn(sha1.New).NewClientUnprepped(user, digest, "")
	if err != nil {
		return scram.StoredCredentials{}, err
	}
	if s.stored == nil {
		s.stored = map[string]scram.StoredCredentials{}
	}
	s.stored[digest] = c.GetStoredCredentials(scram.KeyFactors{Salt: "0123456789abcdef", Iters: 10000})
	return s.stored[digest], nil
}

func (s *Server) saslStart(who *session, database string, d bson.D) bson.D {
	if field(d, "mechanism") != "SCRAM-SHA-1" {
		return no(2, "", fmt.Sprintf("Unsupported mechanism %v", field(d, "mechanism")))
	}
	server, err := scram.HashGeneratorFcn(sha1.New).NewServer(s.lookup(database))
	if err != nil {
		return no(18, "", "Authentication failed.")
	}
	who.sasl, who.db = server.NewConversation(), database
	return s.saslContinue(who, d)
}

func (s *Server) saslContinue(who *session, d bson.D) bson.D {
	if who.sasl == nil {
		return no(17, "", "No SASL session state found")
	}
	said, _ := field(d, "payload").(primitive.Binary)
	if who.sasl.Done() && who.sasl.Valid() { // the last, empty message
		who.user = who.db + "." + who.sasl.Username()
		who.sasl = nil
		return ok(bson.E{Key: "conversationId", Value: int32(1)}, bson.E{Key: "done", Value: true}, bson.E{Key: "payload", Value: primitive.Binary{}})
	}
	reply, err := who.sasl.Step(string(said.Data))
	if err != nil {
		return no(18, "", "auth failed")
	}
	return ok(bson.E{Key: "conversationId", Value: int32(1)}, bson.E{Key: "done", Value: false}, bson.E{Key: "payload", Value: primitive.Binary{Data: []byte(reply)}})
}

func field(d bson.D, key string) any {
	for _, e := range d {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}
