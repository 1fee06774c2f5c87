package replset

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/bson"

	"grove/firstboot/replset/member"
	"grove/firstboot/status"
	"grove/internal/setconf"
	"grove/internal/spec"
)

// rig is nodes of one set on the loopback network, each with an address of its own, a real mongod and an agent's part that is under test. GROVE_TEST_MONGOD is mongod's
// command line. What it leaves out: PID 1, disks, a network that is cut by more than the end of a process.
type rig struct {
	t     *testing.T
	words []string
	port  int
	set   spec.ReplicaSet
	keys  spec.Secrets
	nodes []*machine
}

type machine struct {
	rig     *rig
	host    string // its name in the set
	ip      string // where it is
	dir     string
	secrets spec.Secrets
	halt    func(ctx context.Context, step string)

	mongod *exec.Cmd
	ended  chan struct{}
	stop   context.CancelFunc
	gone   chan struct{}

	mu       sync.Mutex
	now      status.Status
	said     []string
	problems map[string]string
}

func newRig(t *testing.T, members ...spec.Member) *rig {
	t.Helper()
	words := strings.Fields(os.Getenv("GROVE_TEST_MONGOD"))
	if len(words) == 0 {
		t.Skip("GROVE_TEST_MONGOD is not set: not tried is the way of real mongods into one set; make accept ONLY=a4 does")
	}
	r := &rig{t: t, words: words, port: freePort(t), set: spec.ReplicaSet{Name: "rs0", Bootstrap: "all", Members: members}}
	r.keys = spec.Secrets{Key: "Z3JvdmUgdGVzdHMgb25seSwgbm8gc2VjcmV0", Operator: spec.Operator{User: "admin", Password: "for this test alone"}}
	for _, m := range members {
		n := &machine{rig: r, host: m.Host, ip: m.Host, dir: t.TempDir(), secrets: r.keys, problems: map[string]string{}}
		r.nodes = append(r.nodes, n)
		t.Cleanup(func() {
			n.stopAgent()
			n.kill()
			if t.Failed() || os.Getenv("SAID") != "" {
				t.Logf("%s said:\n\t%s", n.host, strings.Join(n.lines(), "\n\t"))
			}
		})
	}
	return r
}

// freePort is one that nobody listens at, on no address of the loopback network.
func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func hosts(n int) (members []spec.Member) {
	for i := range n {
		members = append(members, spec.Member{Host: fmt.Sprintf("127.0.0.%d", 11+i)})
	}
	return members
}

func (n *machine) address() string { return fmt.Sprintf("%s:%d", n.ip, n.rig.port) }

// start has mongod run, as the agent would have it.
func (n *machine) start() {
	n.rig.t.Helper()
	data := filepath.Join(n.dir, "data")
	key := filepath.Join(n.dir, "key")
	_ = os.Remove(key)
	for _, err := range []error{os.MkdirAll(data, 0o700), Begin(data), os.WriteFile(key, []byte(n.secrets.Key), 0o400)} {
		if err != nil {
			n.rig.t.Fatal(err)
		}
	}
	bypass := n.host == n.rig.set.Members[0].Host && !HasUsers(filepath.Join(n.dir, "set.json"))
	args := append(slices.Clone(n.rig.words[1:]), "--dbpath", data, "--port", fmt.Sprint(n.rig.port), "--bind_ip", n.ip, "--replSet", n.rig.set.Name, "--keyFile", key, "--nounixsocket",
		"--setParameter", fmt.Sprintf("enableLocalhostAuthBypass=%v", bypass), "--logpath", filepath.Join(n.dir, "log"), "--logappend", "--wiredTigerCacheSizeGB", "0.25", "--oplogSize", "64")
	n.mongod = exec.Command(n.rig.words[0], args...)
	if err := n.mongod.Start(); err != nil {
		n.rig.t.Fatal(err)
	}
	n.ended = make(chan struct{})
	go func(c *exec.Cmd, ended chan struct{}) { _ = c.Wait(); close(ended) }(n.mongod, n.ended)
}

// kill is a kill -9.
func (n *machine) kill() {
	if n.mongod != nil {
		_ = n.mongod.Process.Kill()
		<-n.ended
		n.mongod = nil
	}
}

// freeze stops mongod and the agent as a network that is cut does for the others; what it gives lets them go on.
func (n *machine) freeze() func() {
	n.stopAgent()
	_ = n.mongod.Process.Signal(syscall.SIGSTOP)
	return func() {
		_ = n.mongod.Process.Signal(syscall.SIGCONT)
		n.startAgent()
	}
}

// foreign has a mongod for no set begin on the node's folder, and take a document.
func (n *machine) foreign() {
	n.rig.t.Helper()
	data := filepath.Join(n.dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		n.rig.t.Fatal(err)
	}
	c := exec.Command(n.rig.words[0], append(slices.Clone(n.rig.words[1:]), "--dbpath", data, "--port", fmt.Sprint(n.rig.port), "--bind_ip", n.ip, "--nounixsocket", "--logpath", filepath.Join(n.dir, "log"))...)
	if err := c.Start(); err != nil {
		n.rig.t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	n.rig.until(time.Minute, func() error {
		m, err := member.Open(n.address(), member.As{})
		if err != nil {
			return err
		}
		defer m.Close()
		return m.Run(context.Background(), "shop", bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: 1}}}},
			{Key: "writeConcern", Value: bson.D{{Key: "j", Value: true}}}}, nil)
	})
}

func (n *machine) site() *Site {
	return &Site{Set: n.rig.set, Self: n.host, Port: n.rig.port, Local: n.address(), Secrets: n.secrets, File: filepath.Join(n.dir, "set.json"),
		Foreign: func() bool { return Foreign(filepath.Join(n.dir, "data")) }, Own: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr(n.ip)} },
		Loopback: true, Uptime: func() float64 { return 0 }, Node: n, Halt: n.halt}
}

func (n *machine) startAgent() {
	ctx, cancel := context.WithCancel(context.Background())
	n.stop, n.gone = cancel, make(chan struct{})
	go func(gone chan struct{}) { n.site().Run(ctx); close(gone) }(n.gone)
}

func (n *machine) stopAgent() {
	if n.stop != nil {
		n.stop()
		<-n.gone
		n.stop = nil
	}
}

// up and off are a node's power.
func (n *machine) up()  { n.start(); n.startAgent() }
func (n *machine) off() { n.stopAgent(); n.kill() }

// loses its data, and with state what it remembers.
func (n *machine) loses(state bool) {
	if err := os.RemoveAll(filepath.Join(n.dir, "data")); err != nil {
		n.rig.t.Fatal(err)
	}
	if state {
		_ = os.Remove(filepath.Join(n.dir, "set.json"))
	}
}

func (n *machine) Say(format string, values ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said = append(n.said, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, values...))
}

func (n *machine) Page(change func(*status.Status)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(&n.now)
}

func (n *machine) Status() status.Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.now
	s.Clock.Synced = true
	return s
}

func (n *machine) Problem(about, sentence string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	news := n.problems[about] != sentence
	n.problems[about] = sentence
	return news
}

func (n *machine) lines() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.said)
}

// says waits until the node's page has this part of a sentence.
func (n *machine) says(part string) {
	n.rig.t.Helper()
	n.rig.until(60*time.Second, func() error {
		if text := n.Status().Set.Text; !strings.Contains(text, part) {
			return fmt.Errorf("%s: the page has %q; want %q", n.host, text, part)
		}
		return nil
	})
}

func (r *rig) until(within time.Duration, holds func() error) {
	r.t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("not within %s: %v", within, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// as the operator, or as who is given, one command to one node.
func (r *rig) run(n *machine, as member.As, command bson.D, into any) error {
	m, err := member.Open(n.address(), as)
	if err != nil {
		return err
	}
	defer m.Close()
	return m.Run(context.Background(), "admin", command, into)
}

func (r *rig) operator() member.As {
	return member.As{User: r.keys.Operator.User, Password: string(r.keys.Operator.Password), Database: "admin"}
}

// gathered is nil when all these nodes are one set as wanted, one primary, the others secondaries or arbiters, and their agents say so.
func (r *rig) gathered() error {
	primaries := 0
	var ids []any
	for _, n := range r.nodes {
		m, err := member.Open(n.address(), member.As{})
		if err != nil {
			return err
		}
		h, err := m.Hello(context.Background())
		m.Close()
		switch {
		case err != nil:
			return err
		case h.Primary:
			primaries++
		case !h.Secondary && !h.Arbiter:
			return fmt.Errorf("%s is %+v", n.host, h)
		}
		if s := n.Status().Set; s.State != "member" || !s.Users {
			return fmt.Errorf("%s: %s, %s, users %v", n.host, s.State, s.Text, s.Users)
		}
		if h.Arbiter {
			continue // drivers do not log in to one
		}
		id, err := r.id(n)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if primaries != 1 || len(slices.CompactFunc(ids, func(a, b any) bool { return a == b })) != 1 {
		return fmt.Errorf("%d primaries, ids %v", primaries, ids)
	}
	return r.asWanted()
}

// id is the set's own, made at its founding: two of them are two sets.
func (r *rig) id(n *machine) (any, error) {
	var reply struct {
		Config struct {
			Settings struct {
				ID any `bson:"replicaSetId"`
			} `bson:"settings"`
		} `bson:"config"`
	}
	err := r.run(n, member.System(string(n.secrets.Key)), bson.D{{Key: "replSetGetConfig", Value: 1}}, &reply)
	return reply.Config.Settings.ID, err
}

func (r *rig) asWanted() error {
	m, err := member.Open(r.nodes[0].address(), member.System(string(r.keys.Key)))
	if err != nil {
		return err
	}
	defer m.Close()
	c, err := m.Config(context.Background())
	if err != nil {
		return err
	}
	if drift := setconf.Drift(c, setconf.Wanted(r.set, r.port)); len(drift) > 0 {
		return fmt.Errorf("drift: %v", drift)
	}
	if c.Voters()%2 == 0 {
		return fmt.Errorf("%d voters", c.Voters())
	}
	return nil
}
