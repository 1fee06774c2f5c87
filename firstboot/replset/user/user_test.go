package user

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
	"go.mongodb.org/mongo-driver/bson/primitive"

	"grove/firstboot/replset/member"
	"grove/firstboot/replset/standin"
	"grove/internal/setconf"
	"grove/internal/settings"
	"grove/internal/spec"
)

var secrets = spec.Secrets{Key: "Z3JvdmUgdGVzdHMgb25seSwgbm8gc2VjcmV0", Operator: spec.Operator{User: "admin", Password: "for this test alone"}}

// server is a primary that nobody has a user on. GROVE_TEST_MONGOD is mongod's command line.
func server(t *testing.T) (address string) {
	t.Helper()
	words := strings.Fields(os.Getenv("GROVE_TEST_MONGOD"))
	if len(words) == 0 {
		t.Skip("GROVE_TEST_MONGOD is not set: not tried is how a real mongod gets its first users; make accept ONLY=a4 does, with six versions")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	address = l.Addr().String()
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte(secrets.Key), 0o400); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(address)
	c := exec.Command(words[0], append(slices.Clone(words[1:]), "--dbpath", dir, "--port", port, "--bind_ip", "127.0.0.1", "--replSet", "rs0", "--keyFile", key, "--nounixsocket", "--logpath", filepath.Join(dir, "log"),
		"--wiredTigerCacheSizeGB", "0.25", "--oplogSize", "64")...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	system := open(t, address, member.System(string(secrets.Key)))
	until(t, "an answer", func() bool { _, err := system.Proof(t.Context()); return err == nil })
	if err := system.Initiate(t.Context(), setconf.Found("rs0", setconf.Member{Host: address, Votes: 1, Priority: 1})); err != nil {
		t.Fatal(err)
	}
	until(t, "a primary", func() bool { h, err := system.Hello(t.Context()); return err == nil && h.Primary })
	return address
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func open(t *testing.T, address string, as member.As) *member.Member {
	t.Helper()
	m, err := member.Open(address, as)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// can says whether one who logs in is let do something.
func can(t *testing.T, address string, as member.As, database string, command bson.D) bool {
	t.Helper()
	err := open(t, address, as).Run(t.Context(), database, command, nil)
	return member.Classify(err) != member.Denied
}

// As a crash leaves it after each step; the next attempt must end as the first would have.
func TestUsersAreMadeWhereverACrashHasLeftThem(t *testing.T) {
	create := func(name, password string, roles primitive.A) bson.D {
		return bson.D{{Key: "createUser", Value: name}, {Key: "pwd", Value: password}, {Key: "roles", Value: roles}}
	}
	oldRole := bson.D{{Key: "createRole", Value: settings.AgentUser}, {Key: "privileges", Value: primitive.A{}}, {Key: "roles", Value: primitive.A{}}}
	operatorMade := create("admin", "for this test alone", operatorRoles)
	for name, before := range map[string][]bson.D{
		"nothing was made":                      nil,
		"the operator":                          {operatorMade},
		"the operator and the role":             {operatorMade, oldRole},
		"all, with the password of another key": {operatorMade, oldRole, create(settings.AgentUser, "of another key", primitive.A{settings.AgentUser})},
	} {
		t.Run(name, func(t *testing.T) {
			address := server(t)
			for _, d := range before {
				if err := open(t, address, member.System(string(secrets.Key))).Run(t.Context(), "admin", d, nil); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := Ensure(t.Context(), address, secrets, true); err != nil {
					t.Fatal(err)
				}
			}
			allowed(t, address)
		})
	}
}

// allowed is what each may, and may not.
func allowed(t *testing.T, address string) {
	t.Helper()
	ping, insert := bson.D{{Key: "replSetGetStatus", Value: 1}}, bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{bson.D{}}}}
	find, users := bson.D{{Key: "find", Value: "orders"}}, bson.D{{Key: "usersInfo", Value: 1}}
	for _, c := range []struct {
		who      string
		as       member.As
		database string
		command  bson.D
		want     bool
	}{
		{"nobody", member.As{}, "admin", ping, false},
		{"the operator", operator(secrets), "admin", ping, true}, {"the operator", operator(secrets), "shop", find, true}, {"the operator", operator(secrets), "admin", users, true},
		{"the operator", operator(secrets), "shop", insert, false},
		{"the agent", Agent(secrets.Key), "admin", ping, true}, {"the agent", Agent(secrets.Key), "admin", bson.D{{Key: "serverStatus", Value: 1}}, true},
		{"the agent", Agent(secrets.Key), "admin", bson.D{{Key: "getLog", Value: "startupWarnings"}}, true},
		{"the agent", Agent(secrets.Key), "shop", find, false}, {"the agent", Agent(secrets.Key), "shop", insert, false}, {"the agent", Agent(secrets.Key), "admin", users, false},
		{"nobody, a second first user", member.As{}, "admin", bson.D{{Key: "createUser", Value: "eve"}, {Key: "pwd", Value: "12345678"}, {Key: "roles", Value: bson.A{"root"}}}, false},
	} {
		if got := can(t, address, c.as, c.database, c.command); got != c.want {
			t.Errorf("%s, %s on %s: got %v; want %v", c.who, c.command[0].Key, c.database, got, c.want)
		}
	}
}

func TestWhatIsWrongWithTheUsersIsNamed(t *testing.T) {
	address := server(t)
	if err := Ensure(t.Context(), address, spec.Secrets{Key: secrets.Key}, false); err == nil || !strings.Contains(err.Error(), "no secrets.operator to make the first one") {
		t.Errorf("without an operator: got %v", err)
	}
	other := secrets
	other.Operator = spec.Operator{User: "ann", Password: "somebody else was first"}
	if err := first(t.Context(), address, other.Operator); err != nil {
		t.Fatal(err)
	}
	err := Ensure(t.Context(), address, secrets, false)
	want := "make the first user, admin: there are users already, and neither admin nor grove-agent can log in with what node.yaml has: correct secrets.operator.password or secrets.key there"
	if err == nil || err.Error() != want || member.Classify(err) != member.Permanent {
		t.Errorf("the exception is used up: got %v; want %s", err, want)
	}
	if err := Ensure(t.Context(), address, other, false); err != nil {
		t.Errorf("with the first one's password: %v", err)
	}
	changed := other
	changed.Operator.Password = "was changed since"
	if err := Ensure(t.Context(), address, changed, false); err != nil {
		t.Errorf("the operator's password is another by now: %v", err)
	}
	if err := Ensure(t.Context(), "127.0.0.1:1", secrets, false); member.Classify(err) != member.Retry {
		t.Errorf("nobody answers: got %v", err)
	}
}

func TestAnOldServerGetsItsUsers(t *testing.T) {
	for _, version := range []string{"3.0", "3.2"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		s := &standin.Server{Version: version, Address: l.Addr().String(), Set: "rs0", Key: string(secrets.Key), Bypass: true}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if err := s.Serve(ctx, new(standin.Network)); err != nil {
			t.Fatal(err)
		}
		system := open(t, s.Address, member.System(string(secrets.Key)))
		if err := system.Initiate(ctx, setconf.Found("rs0", setconf.Member{Host: s.Address, Votes: 1, Priority: 1})); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := Ensure(ctx, s.Address, secrets, true); err != nil {
				t.Fatal(fmt.Errorf("%s: %w", version, err))
			}
		}
		if !can(t, s.Address, Agent(secrets.Key), "admin", bson.D{{Key: "replSetGetStatus", Value: 1}}) {
			t.Errorf("%s: the agent cannot log in", version)
		}
	}
}
