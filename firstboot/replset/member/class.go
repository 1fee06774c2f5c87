package member

import (
	"context"
	"errors"
	"strings"

	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/x/mongo/driver/auth"
	"go.mongodb.org/mongo-driver/x/mongo/driver/topology"
)

// Class is what an error of a server's means to one that joins a set.
type Class string

// The classes.
const (
	Retry       Class = "retry"       // the same again, a little later
	Rediscover  Class = "rediscover"  // another member is primary, or none
	Done        Class = "done"        // it is as it should be already
	NotYet      Class = "not yet"     // the server has no configuration: a fact, no fault
	Out         Class = "out"         // the server's configuration does not have it
	Busy        Class = "busy"        // the server is not ready for this; it is waited for
	Stale       Class = "stale"       // the configuration has changed since it was read
	Denied      Class = "denied"      // unknown user, wrong password, or not allowed
	Unsupported Class = "unsupported" // by this version
	Permanent   Class = "permanent"   // a person must see to it
)

// classes by the server's number (src/mongo/base/error_codes.yml); what is not here is permanent.
var classes = map[int32]Class{
	6: Retry, 7: Retry, 89: Retry, 9001: Retry, // HostUnreachable, HostNotFound, NetworkTimeout, SocketException
	11: Denied, 13: Denied, 18: Denied, // UserNotFound, Unauthorized, AuthenticationFailed
	20: Unsupported, 59: Unsupported, 115: Unsupported, // IllegalOperation, CommandNotFound, CommandNotSupported
	23: Done, 26: Done, 48: Done, 51002: Done, 51003: Done, // AlreadyInitialized, NamespaceNotFound, NamespaceExists, a role or user that exists
	74: Retry,                                                             // NodeNotFound
	91: Rediscover, 189: Rediscover, 11600: Rediscover, 11602: Rediscover, // ShutdownInProgress, PrimarySteppedDown, Interrupted...
	93: Permanent,                                 // InvalidReplicaSetConfig
	94: NotYet,                                    // NotYetInitialized
	95: Busy, 119: Busy, 13435: Busy, 13436: Busy, // NotSecondary, InvalidSyncSource, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary
	103: Permanent,                                                         // NewReplicaSetConfigurationIncompatible
	104: Rediscover,                                                        // NodeNotElectable
	109: Retry, 112: Retry, 211: Retry, 251: Retry, 303: Retry, 308: Retry, // ConfigurationInProgress, WriteConflict, KeyNotFound, NoSuchTransaction, SplitHorizonChange, CurrentConfigNotCommittedYet
	133: Rediscover, 10058: Rediscover, 10107: Rediscover, // FailedToSatisfyReadPreference, LegacyNotPrimary, NotWritablePrimary
}

// texts are for servers before 3.4, some of whose replies have no number.
var texts = []struct {
	part string
	code int32
}{
	{"already initialized", 23}, {"no replset config has been received", 94}, {"not master", 10107}, {"has data already, cannot initiate set", 110},
	{"No host described in new configuration", 93}, {"couldn't initiate", 93}, {"auth failed", 18}, {"not authorized", 13},
}

// Code is the server's number for an error, 0 if it is none of a server's.
func Code(err error) int32 {
	var said mongo.CommandError
	if !errors.As(err, &said) {
		var wrote mongo.WriteException
		if errors.As(err, &wrote) && len(wrote.WriteErrors) > 0 {
			return int32(wrote.WriteErrors[0].Code)
		}
		return 0
	}
	if said.Code != 0 {
		return said.Code
	}
	for _, t := range texts {
		if strings.Contains(said.Message, t.part) {
			return t.code
		}
	}
	return -1 // it said something without a number
}

// Fault is one that only a person can mend, in a sentence for him.
type Fault string

func (f Fault) Error() string { return string(f) }

// Classify tells what to make of an error, nil is Done. The number counts; the text only where one number has several meanings, or there is none.
func Classify(err error) Class {
	var fault Fault
	switch code := Code(err); {
	case err == nil:
		return Done
	case errors.As(err, &fault):
		return Permanent
	case denied(err):
		return Denied
	case code == 0:
		return Retry // the network's, or the call's end
	case code == 74 || code == 93 || code == 103:
		return ofConfig(code, err.Error())
	case classes[code] != "":
		return classes[code]
	}
	return Permanent
}

// ofConfig are the numbers that a refused configuration comes with. "maps to this node" is a name server that does not know the node yet, of every version another number.
func ofConfig(code int32, text string) Class {
	switch {
	case strings.Contains(text, "maps to this node"):
		return Retry
	case code == 93 && strings.Contains(text, "not a member of"):
		return Out
	case code == 103 && (strings.Contains(text, "version") && strings.Contains(text, "greater")), code == 103 && strings.Contains(text, "config version of"):
		return Stale
	}
	return classes[code]
}

// denied is a log-in that failed: the driver wraps what the server said, and then calls it a fault of the connection.
func denied(err error) bool {
	var handshake *auth.Error
	if errors.As(err, &handshake) {
		return true
	}
	var connection topology.ConnectionError
	if errors.As(err, &connection) && connection.Wrapped != nil && errors.As(connection.Wrapped, &handshake) {
		return true
	}
	return err != nil && !errors.Is(err, context.Canceled) && strings.Contains(err.Error(), "auth error")
}

// Reason is what a person need know of an error: of one that the driver gathered from many attempts the last.
func Reason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "Last error: "); i >= 0 {
		text = strings.TrimRight(text[i+len("Last error: "):], " }],")
	}
	for _, part := range []string{"connection() error occurred during connection handshake: ", "server selection error: "} {
		text = strings.ReplaceAll(text, part, "")
	}
	return text
}
