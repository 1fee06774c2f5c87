package member

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/bson"

	"grove/firstboot/replset/standin"
	"grove/internal/setconf"
)

const key = "Z3JvdmUgdGVzdHMgb25seSwgbm8gc2VjcmV0"

// The table of errors (facts, 3.3), row by row: what each is to one that joins. These are had from the stand-in, since no real server can be brought to them at will; those below are
// provoked on a real one.
func TestEveryErrorHasItsAction(t *testing.T) {
	m, s := oldServer(t, "3.2")
	for _, c := range []struct {
		code int32
		text string
		want Class
	}{
		{6, "HostUnreachable", Retry}, {7, "HostNotFound", Retry}, {89, "NetworkTimeout", Retry}, {9001, "SocketException", Retry},
		{11, "UserNotFound", Denied}, {18, "AuthenticationFailed", Denied}, {13, "Unauthorized", Denied},
		{20, "IllegalOperation", Unsupported}, {59, "CommandNotFound", Unsupported}, {115, "CommandNotSupported", Unsupported},
		{23, "already initialized", Done}, {26, "ns not found", Done}, {48, "collection already exists", Done}, {51003, "User already exists", Done}, {51002, "Role already exists", Done},
		{74, "replSetInitiate quorum check failed", Retry}, {74, "No host described in new configuration maps to this node", Retry},
		{76, "not running with --replSet", Permanent},
		{91, "ShutdownInProgress", Rediscover}, {11600, "interrupted at shutdown", Rediscover}, {189, "PrimarySteppedDown", Rediscover}, {11602, "InterruptedDueToReplStateChange", Rediscover},
		{93, "priority must be 0 when hidden=true", Permanent}, {93, "No host described in new configuration 1 for replica set rs0 maps to this node", Retry},
		{93, "Our replica set config is invalid or we are not a member of it", Out}, {94, "no replset config has been received", NotYet},
		{95, "NotSecondary", Busy}, {119, "InvalidSyncSource", Busy}, {13435, "NotPrimaryNoSecondaryOk", Busy}, {13436, "NotPrimaryOrSecondary", Busy},
		{98, "DBPathInUse", Permanent},
		{103, "New replica set configuration version must be greater than old, but 2 is not greater than 2", Stale}, {103, "Our config version of 1 is no larger than the version on h:1", Stale},
		{103, "New and old configurations both have members with host of h:1 but in the new configuration the _id field is 2", Permanent},
		{103, "Our set name did not match that of h:1", Permanent}, {103, "Our replica set ID of x did not match that of h:1", Permanent},
		{103, "This node maps to this node", Retry}, {104, "not electable", Rediscover}, {108, "InconsistentReplicaSetNames", Permanent},
		{109, "currently updating its configuration", Retry}, {110, "'h:1' has data already, cannot initiate set.", Permanent},
		{112, "WriteConflict", Retry}, {251, "NoSuchTransaction", Retry}, {123, "NotAReplicaSet", Permanent}, {124, "IncompatibleElectionProtocol", Permanent},
		{133, "FailedToSatisfyReadPreference", Rediscover}, {188, "IncompatibleServerVersion", Permanent}, {211, "KeyNotFound", Retry}, {269, "DataModifiedByRepair", Permanent}, {270, "RepairedReplicaSetNode", Permanent},
		{303, "SplitHorizonChange", Retry}, {308, "CurrentConfigNotCommittedYet", Retry}, {352, "UnsupportedOpQueryCommand", Permanent}, {5739101, "OP_QUERY is no longer supported", Permanent},
		{10058, "not master", Rediscover}, {10107, "replSetReconfig should only be run on PRIMARY", Rediscover}, {40414, "missing field", Permanent}, {40415, "unknown field", Permanent},
		{5624100, "getLastErrorDefaults", Permanent}, {5624103, "getLastErrorDefaults", Permanent},
		// Without a number, as 3.0 has them.
		{0, "already initialized", Done}, {0, "no replset config has been received", NotYet}, {0, "not master", Rediscover}, {0, "couldn't initiate : can't find self in the replset config", Permanent},
		{0, "No host described in new configuration 1 maps to this node", Retry}, {0, "'h:1' has data already, cannot initiate set.", Permanent}, {0, "auth failed", Denied}, {0, "something else", Permanent},
	} {
		s.Fail("replSetGetStatus", c.code, "", c.text)
		_, err := m.Status(t.Context())
		if got := Classify(err); got != c.want || err == nil {
			t.Errorf("%d %s: got %s (%v); want %s", c.code, c.text, got, err, c.want)
		}
	}
}

func oldServer(t *testing.T, version string) (*Member, *standin.Server) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s := &standin.Server{Version: version, Address: l.Addr().String(), Set: "rs0", Key: key, Bypass: true}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	if err := s.Serve(ctx, new(standin.Network)); err != nil {
		t.Fatal(err)
	}
	m, err := Open(s.Address, System(key))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m, s
}

func TestAServerThatIsNotThere(t *testing.T) {
	m, err := Open("127.0.0.1:1", As{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	_, err = m.Hello(t.Context())
	if Classify(err) != Retry || !strings.Contains(Reason(err), "connection refused") || strings.Contains(Reason(err), "server selection") {
		t.Errorf("got %s: %s", Classify(err), Reason(err))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Hello(ctx); Classify(err) != Retry {
		t.Errorf("a call that was called off: got %s: %v", Classify(err), err)
	}
}

// real starts mongods on 127.0.0.21 and so on; GROVE_TEST_MONGOD is mongod's command line.
type real struct {
	t     *testing.T
	words []string
	port  int
}

func newReal(t *testing.T) real {
	words := strings.Fields(os.Getenv("GROVE_TEST_MONGOD"))
	if len(words) == 0 {
		t.Skip("GROVE_TEST_MONGOD is not set: not tried is what a real mongod says to all this; make accept ONLY=a4 does, with six versions")
	}
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return real{t, words, l.Addr().(*net.TCPAddr).Port}
}

func (r real) address(i int) string { return fmt.Sprintf("127.0.0.%d:%d", 21+i, r.port) }

// start runs one; with restart it can be ended and begun anew on its data.
func (r real) start(i int, args ...string) (end, restart func()) {
	r.t.Helper()
	dir := r.t.TempDir()
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte(key), 0o400); err != nil {
		r.t.Fatal(err)
	}
	args = append(append(slices.Clone(r.words[1:]), "--dbpath", dir, "--port", fmt.Sprint(r.port), "--bind_ip", fmt.Sprintf("127.0.0.%d", 21+i), "--nounixsocket", "--logpath", filepath.Join(dir, "log"), "--logappend",
		"--keyFile", file, "--wiredTigerCacheSizeGB", "0.25", "--oplogSize", "64"), args...)
	var c *exec.Cmd
	end = func() {
		if c != nil {
			_ = c.Process.Kill()
			_ = c.Wait()
			c = nil
		}
	}
	restart = func() {
		c = exec.Command(r.words[0], args...)
		if err := c.Start(); err != nil {
			r.t.Fatal(err)
		}
	}
	r.t.Cleanup(end)
	restart()
	return end, restart
}

func (r real) open(i int, as As) *Member {
	r.t.Helper()
	m, err := Open(r.address(i), as)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(m.Close)
	return m
}

// until asks again until it holds.
func (r real) until(what string, holds func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("not within a minute: %s", what)
		}
	}
}

func (r real) answers(m *Member) {
	r.t.Helper()
	r.until("an answer", func() bool { _, err := m.Hello(r.t.Context()); return err == nil })
}

func one(address string) setconf.Config {
	return setconf.Found("rs0", setconf.Member{Host: address, Votes: 1, Priority: 1})
}

func TestARealServerProvesThatItIsFresh(t *testing.T) {
	r := newReal(t)
	end, restart := r.start(0, "--replSet", "rs0")
	m, system, ctx := r.open(0, As{}), r.open(0, System(key)), t.Context()
	r.answers(m)
	if h, err := m.Hello(ctx); err != nil || h.Set != "" || !h.Replicates || h.Standalone() {
		t.Errorf("before the founding: got %+v, %v", h, err)
	}
	if set, err := system.Proof(ctx); err != nil || set != "" {
		t.Errorf("before the founding: got %q, %v", set, err)
	}
	if _, err := r.open(0, System("bm90IHRoYXQgb25l")).Proof(ctx); Classify(err) != Denied {
		t.Errorf("with another key: got %s, %v", Classify(err), err)
	}
	if _, err := m.Proof(ctx); Classify(err) != Denied {
		t.Errorf("without a key: got %s, %v", Classify(err), err)
	}
	if err := system.Initiate(ctx, one(r.address(0))); err != nil {
		t.Fatal(err)
	}
	if set, err := system.Proof(ctx); err != nil || set != "rs0" {
		t.Errorf("after it: got %q, %v", set, err)
	}
	r.until("a primary", func() bool { h, err := m.Hello(ctx); return err == nil && h.Primary })
	// A server of 4.2 or 4.4 that is killed before it has made the keys that sign its cluster's time lets nobody in after that, itself neither (KeyNotFound), and stays out of its set.
	r.until("the keys of the cluster's time", func() bool {
		var reply struct {
			Cursor struct {
				First []bson.D `bson:"firstBatch"`
			} `bson:"cursor"`
		}
		err := system.Run(ctx, "admin", bson.D{{Key: "find", Value: "system.keys"}}, &reply)
		return err == nil && len(reply.Cursor.First) > 0
	})
	end()
	restart()
	looks, early := 0, 0
	r.until("a primary after the restart", func() bool {
		h, err := m.Hello(ctx)
		if err != nil {
			return false
		}
		set, err := system.Proof(ctx)
		if err == nil && set != "rs0" {
			t.Errorf("a server that has just started: proves to be in the set %q", set)
		}
		if looks++; h.Set == "" {
			early++
		}
		return h.Primary
	})
	t.Logf("%d looks at a server that starts; in %d of them it said that it is in no set", looks, early)
}

// The rows that a real server can be brought to.
func TestARealServersErrorsAreThoseOfTheTable(t *testing.T) {
	r := newReal(t)
	r.start(0, "--replSet", "rs0")
	endOther, _ := r.start(1, "--replSet", "rs0")
	r.start(2) // for no set
	r.start(3, "--replSet", "other")
	a, b, alone, other, ctx := r.open(0, System(key)), r.open(1, System(key)), r.open(2, System(key)), r.open(3, System(key)), t.Context()
	for _, m := range []*Member{r.open(0, As{}), r.open(1, As{}), r.open(2, As{}), r.open(3, As{})} {
		r.answers(m)
	}
	is := func(name string, err error, code int32, want Class) {
		t.Helper()
		if got := Classify(err); got != want || err == nil || code != 0 && Code(err) != code {
			t.Errorf("%s: got %s, %d (%v); want %s, %d", name, got, Code(err), err, want, code)
		}
	}
	_, err := a.Status(ctx)
	is("not initialised", err, 94, NotYet)
	_, err = alone.Status(ctx)
	is("started for no set", err, 76, Permanent)
	is("founded, started for no set", alone.Initiate(ctx, one(r.address(2))), 76, Permanent)
	is("founded with another name", other.Initiate(ctx, one(r.address(3))), 0, Permanent)
	is("a name that is not here", a.Initiate(ctx, one("127.0.0.99:1")), 0, Retry)
	two, _ := one(r.address(0)).With(setconf.Member{Host: "127.0.0.98:1", Votes: 1, Priority: 1})
	first := setconf.Found("rs0", setconf.Member{Host: r.address(0), Votes: 1, Priority: 1})
	is("founded with one that is not there", a.Initiate(ctx, asFirst(two)), 74, Retry)
	is("founded with hidden and a priority", a.Initiate(ctx, wrong(first)), 93, Permanent)
	if err := a.Initiate(ctx, first); err != nil {
		t.Fatal(err)
	}
	is("founded twice", a.Initiate(ctx, first), 23, Done)
	r.until("a primary", func() bool { h, err := r.open(0, As{}).Hello(ctx); return err == nil && h.Primary })
	c, err := a.Config(ctx)
	if err != nil {
		t.Fatal(err)
	}
	next, _ := c.With(setconf.Member{Host: r.address(1)})
	r.until("the second is taken in", func() bool { err := a.Reconfig(ctx, next); return err == nil || Classify(err) == Stale })
	is("a version that is not the next", a.Reconfig(ctx, next), 103, Stale)
	r.until("a secondary", func() bool { h, err := r.open(1, As{}).Hello(ctx); return err == nil && h.Secondary })
	c, _ = b.Config(ctx)
	more, _ := c.With(setconf.Member{Host: "127.0.0.97:1"})
	is("a secondary is to install it", b.Reconfig(ctx, more), 10107, Rediscover)
	stranger, _ := c.With(setconf.Member{Host: r.address(3)})
	err = a.Reconfig(ctx, stranger)
	if got := Classify(err); err != nil && got != Permanent && got != Retry {
		t.Errorf("a member of another set: got %s, %v", got, err)
	}
	is("an unknown command", a.Run(ctx, "admin", bson.D{{Key: "noSuchCommand", Value: 1}}, nil), 59, Unsupported)
	is("nobody has logged in", r.open(0, As{}).Run(ctx, "admin", bson.D{{Key: "replSetGetConfig", Value: 1}}, nil), 13, Denied)
	_, err = r.open(0, As{User: "nobody", Password: "12345678", Database: "admin"}).Status(ctx)
	is("a user who is none", err, 0, Denied)
	createUser := bson.D{{Key: "createUser", Value: "ann"}, {Key: "pwd", Value: "for this test"}, {Key: "roles", Value: bson.A{}}}
	if err := a.Run(ctx, "admin", createUser, nil); err != nil {
		t.Fatal(err)
	}
	is("a user who exists", a.Run(ctx, "admin", createUser, nil), 51003, Done)
	endOther()
	_, err = b.Status(ctx)
	is("a server that is gone", err, 0, Retry)
}

// asFirst is a configuration under the first version.
func asFirst(c setconf.Config) setconf.Config {
	d := slices.Clone(c.Document())
	for i := range d {
		if d[i].Key == "version" {
			d[i].Value = int32(1)
		}
	}
	first, _ := setconf.Read(d)
	return first
}

// wrong is one that no server takes.
func wrong(c setconf.Config) setconf.Config {
	d := slices.Clone(c.Document())
	for i := range d {
		if d[i].Key == "members" {
			d[i].Value = bson.A{bson.D{{Key: "_id", Value: int32(0)}, {Key: "host", Value: c.Members()[0].Host}, {Key: "hidden", Value: true}, {Key: "priority", Value: 1}}}
		}
	}
	bad, _ := setconf.Read(d)
	return bad
}
