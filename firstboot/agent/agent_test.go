package agent

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"grove/firstboot/network"
	"grove/firstboot/status"
	"grove/internal/host"
	"grove/internal/partition"
	"grove/internal/size"
)

const guid = "11111111-2222-8333-8444-555555555555"

// bench is a fake node in fake time: a folder for its files, a machine in memory, one interface, a mongod that answers 5 s after its start.
type bench struct {
	t       *testing.T
	root    string
	machine *host.FakeMachine
	door    host.Machine // machine, but in a test that has another before it
	agent   *Agent
	wire    others
	gate    gate
	console bytes.Buffer

	warnings []string // mongod's at its start

	mu    sync.Mutex
	ended chan error
}

func (n *bench) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.console.Write(p)
}

func newNode(t *testing.T) *bench {
	n := &bench{t: t, root: t.TempDir(), machine: &host.FakeMachine{RAM: 2 * size.GiB}}
	n.file("etc/grove/image.json", `{"image": "demo", "board": "m4.4xlarge", "disk_id": "`+guid+`", "mongod": {"version": "6.0.5", "config": {}}}`)
	n.file("proc/cmdline", "quiet")
	n.file("proc/self/mountinfo", "")
	n.disk()
	return n
}

func (n *bench) file(name, text string) {
	n.t.Helper()
	name = filepath.Join(n.root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// disk is a medium of 64 MiB that is full already.
func (n *bench) disk() {
	n.t.Helper()
	const linux = "0fc63daf-8483-4772-8e79-3d69d8477de4"
	table := partition.Table{Disk: guid, Size: 64 * size.MiB, Partitions: []partition.Partition{
		{Number: 1, Name: "GROVE-BOOT", Type: linux, GUID: "22222222-2222-8333-8444-555555555555", Start: size.MiB, Size: size.MiB},
		{Number: 2, Name: "state", Type: linux, GUID: "33333333-2222-8333-8444-555555555555", Start: 2 * size.MiB, Size: 61 * size.MiB},
	}}
	n.file("dev/vda", "")
	f, err := os.OpenFile(filepath.Join(n.root, "dev/vda"), os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(f.Truncate(64<<20), partition.Write(f, table), f.Close())
	}
	if err != nil {
		n.t.Fatal(err)
	}
	superblock := make([]byte, 4096)
	binary.LittleEndian.PutUint16(superblock[1024+0x38:], 0xef53)
	binary.LittleEndian.PutUint32(superblock[1024+0x4:], 61<<10)
	n.file("dev/vda2", string(superblock))
	for name, text := range map[string]string{"vda/size": "131072", "vda/vda1/partition": "1", "vda/vda2/partition": "2", "vda/vda2/size": "124928"} {
		n.file("sys/class/block/"+name, text)
	}
}

// begin starts an agent.
func (n *bench) begin() {
	if n.door == nil {
		n.door = n.machine
	}
	n.agent = &Agent{Machine: n.door, Root: n.root, Console: n, Searched: strings.NewReader(""), Links: wire{}, NewClient: func() network.Client { return client{mute: n.wire.mute} },
		Wire:   n.wire.doors(),
		Filter: n.gate.filter, Addresses: n.gate.addresses, Listen: n.gate.listen,
		Warnings: func(context.Context, int, string) ([]string, error) { return n.warnings, nil },
		Ready: func(ctx context.Context, port int) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(5 * time.Second):
				return nil
			}
		}}
	n.ended = make(chan error, 1)
	go func() { n.ended <- n.agent.Run() }()
}

// leave ends the agent and not the node.
func (n *bench) leave() {
	n.machine.Leave()
	if err := <-n.ended; err != nil {
		n.t.Error(err)
	}
	n.machine.Restart()
}

// pass lets time pass until all is quiet.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (n *bench) status() status.Status { return status.Read(n.root + status.File) }

// said gives the console without its times, and takes it away.
func (n *bench) said() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := regexp.MustCompile(`(?m)^grove [0-9.]+ `).ReplaceAllString(n.console.String(), "")
	n.console.Reset()
	return strings.ReplaceAll(text, n.root, "")
}

func (n *bench) hasSaid(want ...string) {
	n.t.Helper()
	said := n.said()
	for _, line := range want {
		if !strings.Contains(said, line+"\n") {
			n.t.Errorf("the console lacks %q; it has\n%s", line, said)
		}
	}
}

func (n *bench) is(want string) {
	n.t.Helper()
	if diff := cmp.Diff(want, strings.ReplaceAll(n.machine.String(), n.root, "")); diff != "" {
		n.t.Errorf("want - got +\n%s", diff)
	}
}

// wire is one interface with a DHCP server behind it.
type wire struct{}

func (wire) Watch(ctx context.Context) (<-chan network.Link, error) {
	out := make(chan network.Link, 1)
	out <- network.Link{Name: "eth0", MAC: net.HardwareAddr{0x52, 0x54, 0, 0xaa, 0xbb, 0xcc}, Carrier: true}
	context.AfterFunc(ctx, func() { close(out) })
	return out, nil
}
func (wire) Up(string) error                   { return nil }
func (wire) Set(string, network.Lease) error   { return nil }
func (wire) Unset(string, network.Lease) error { return nil }
func (wire) Has(string, network.Lease) bool    { return false }
func (wire) SetMTU(string, int) error          { return nil }
func (wire) Taken(context.Context, string, network.Lease) (net.HardwareAddr, error) {
	return nil, nil
}
func (wire) Ask(context.Context, string) (network.Lease, error) {
	return network.Lease{Address: netip.MustParsePrefix("10.5.0.11/24"), Lasts: time.Hour, Renew: time.Hour}, nil
}
func (w wire) Again(ctx context.Context, link string) (network.Lease, error) { return w.Ask(ctx, link) }

const booted = `hostname db1
mount /dev/vda2 on /state type ext4 read-only false
folder /state/mongod/db -rwx------ 990:990
folder /state/mongod/log -rwx------ 990:990
process 100 /usr/bin/mongod --config /run/grove/mongod.conf uid 990 runs
`

func TestBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.file("sys/firmware/qemu_fw_cfg/by_name/opt/org.grove/node.yaml/raw", "hostname: db1\n")
		n.begin()
		pass(10 * time.Second)
		n.is(booted)
		n.hasSaid("state: /dev/vda2 on /state, 8 GiB, 7 GiB free", "mongod: 6.0.5 started, pid 100", "node: db1, by fw_cfg", "network: eth0 is up, 52:54:00:aa:bb:cc",
			"network: eth0 has 10.5.0.11/24 by DHCP", "mongod: 6.0.5 answers on 10.5.0.11:27017, pid 100")
		got := n.status()
		got.Agent.PID = 1
		want := status.Status{Node: "db1", NodeFrom: "fw_cfg", Image: "demo", Board: "m4.4xlarge", Phase: "serving", Addresses: []string{"10.5.0.11/24"},
			Agent:  status.Agent{PID: 1, RSS: int64(10 * size.MiB)},
			Mongod: status.Mongod{Version: "6.0.5", PID: 100, State: "ready", Port: 27017, Since: 5, ReadyAfterS: 5},
			State:  status.State{Device: n.root + "/dev/vda2", Size: int64(8 * size.GiB), Free: int64(7 * size.GiB)}, Problems: []string{}, Updated: 5}
		want.Tuning = status.Tuning{Profile: "none", Values: []status.Tuned{}, Warnings: []status.Warning{}, Differs: got.Tuning.Differs}
		want.Set = status.Set{Members: []status.SetMember{}, Drift: []string{}, Checked: []status.Preflight{}}
		want.Logs.Path = "/state/mongod/log/mongod.log"
		want.Space = []status.Room{{Mount: "/state", Size: int64(8 * size.GiB), Free: int64(7 * size.GiB)}}
		want.Storage = status.Storage{Plan: []string{}, Done: []string{}, Waits: []string{}, Notes: []string{}, Refused: []status.Refusal{}, Arrays: []status.Array{},
			Mounts: []status.Mount{}, Swaps: []status.Swap{}, Written: []status.Written{}}
		want.Network = status.Network{Links: []status.Link{{Name: "eth0", MAC: "52:54:00:aa:bb:cc", Up: true, Address: "10.5.0.11/24", By: "DHCP"}}, DNS: []string{}, Search: []string{}}
		want.Clock = status.Clock{Servers: []string{}, Poor: []string{}}
		want.Firewall = status.Firewall{State: "loaded", Cluster: []string{"10.5.0.0/24"}, Operator: []string{"10.5.0.0/24"}, Rules: n.gate.rules()}
		want.SSH = status.SSH{State: "closed", Keys: []status.LoginKey{}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("want - got +\n%s", diff)
		}
		for file, want := range map[string]string{"etc/hostname": "db1\n", "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n10.5.0.11 db1\n", "run/grove/mongod.pid": "100\n"} {
			if got, err := os.ReadFile(filepath.Join(n.root, file)); err != nil || string(got) != want {
				t.Errorf("%s: got %q, %v; want %q", file, got, err, want)
			}
		}
		n.leave()
	})
}

func TestAgentThatStartsAnewTakesMongodOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.file("proc/cmdline", "quiet grove.hostname=db1")
		n.begin()
		pass(10 * time.Second)
		for restarts := 1; restarts <= 2; restarts++ {
			n.leave()
			n.is(booted)
			n.said()
			n.begin()
			pass(10 * time.Second)
			n.is(booted)
			n.hasSaid("mongod: 6.0.5 found, pid 100", "mongod: 6.0.5 answers on 10.5.0.11:27017, pid 100")
			if got := n.status(); got.Agent.Restarts != restarts || got.Mongod.Restarts != 0 || got.Phase != "serving" {
				t.Errorf("got %+v; want %d restarts of the agent, none of mongod", got, restarts)
			}
		}
		n.leave()
	})
}

func TestMongodThatEndsIsStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.begin()
		pass(10 * time.Second)
		n.file("state/mongod/log/mongod.log", `{"s":"F","msg":"Fatal assertion"}`)
		n.machine.End(100, "signal aborted")
		pass(500 * time.Millisecond)
		n.hasSaid("mongod: 6.0.5, pid 100, ended: signal aborted; starts again in 1s; it said last: Fatal assertion")
		if got := n.status(); got.Phase != "waiting" || got.Mongod.PID != 0 || got.Mongod.LastExit != "signal aborted" || len(got.Problems) != 1 {
			t.Errorf("meanwhile: got %+v", got)
		}
		pass(10 * time.Second)
		n.hasSaid("mongod: 6.0.5 started, pid 101", "mongod: 6.0.5 answers on 10.5.0.11:27017, pid 101")
		if got := n.status(); got.Phase != "serving" || got.Mongod.PID != 101 || got.Mongod.Restarts != 1 || len(got.Problems) != 0 {
			t.Errorf("after it: got %+v", got)
		}
		n.leave()
	})
}

func TestNodeThatStopsEndsMongodFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.begin()
		pass(10 * time.Second)
		n.machine.Stop()
		if err := <-n.ended; err != nil {
			t.Error(err)
		}
		n.is(strings.Replace(strings.Replace(booted, "uid 990 runs", "uid 990 ended: exit code 0", 1), "hostname db1", "hostname grove-aabbcc", 1))
		n.hasSaid("stop: mongod, pid 100, is told to end; it has 2m0s", "stop: mongod ended after 0.0 s: exit code 0")
		if got := n.status(); got.Phase != "stopping" || got.Mongod.State != "stopped" {
			t.Errorf("got %+v", got)
		}
	})
}

// What goes wrong leaves a node that is up, says why, and has no mongod on RAM.
func TestNodeStaysUpWithout(t *testing.T) {
	for _, c := range []struct {
		name    string
		spoil   func(*bench)
		problem string // one of the page's
		mongod  string // its state
		node    string
	}{
		{"the state", func(n *bench) {
			n.machine.Broken = map[string]error{n.root + "/dev/vda2": errors.New("bad superblock")}
		},
			"state: mount /dev/vda2 on /state as ext4: bad superblock; mongod is not started", "absent", "grove-aabbcc"},
		{"the medium", func(n *bench) { n.file("dev/vda", "") },
			"medium: there is no medium with the partition table " + guid + ", only vda (64 MiB, no GPT)", "absent", "grove-aabbcc"},
		{"a good node.yaml", func(n *bench) {
			n.file("sys/firmware/qemu_fw_cfg/by_name/opt/org.grove/node.yaml/raw", "hostname: db1\nhostnam: db2\n")
		}, "node: node.yaml is refused: opt/org.grove/node.yaml:2:1: hostnam: ", "ready", "grove-aabbcc"},
		{"a program", func(n *bench) { n.machine.Broken = map[string]error{"/usr/bin/mongod": os.ErrNotExist} },
			"mongod: start /usr/bin/mongod: file does not exist", "waiting", "grove-aabbcc"},
		{"a configuration that can be", func(n *bench) {
			n.file("etc/grove/image.json", `{"disk_id": "`+guid+`", "mongod": {"version": "6.0.5", "config": {"storage": {"dbPath": "/data"}}}}`)
		}, "mongod: storage.dbPath: cannot be set: the data lies on the data disks, or on the state partition without any; mongod is not started", "absent", "grove-aabbcc"},
		{"knowing what it is", func(n *bench) { n.file("etc/grove/image.json", "{") },
			"image: the image does not say what it is: unexpected end of JSON input", "absent", "grove-aabbcc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t)
				c.spoil(n)
				n.begin()
				pass(10 * time.Second)
				got := n.status()
				if problems := strings.ReplaceAll(fmt.Sprint(got.Problems), n.root, ""); !strings.Contains(problems, c.problem) {
					t.Errorf("got the problems %q; want %q among them", problems, c.problem)
				}
				if got.Mongod.State != c.mongod || got.Node != c.node || got.Addresses[0] != "10.5.0.11/24" {
					t.Errorf("got mongod %s, node %s, %v; want %s, %s, and its address", got.Mongod.State, got.Node, got.Addresses, c.mongod, c.node)
				}
				if c.mongod == "absent" && strings.Contains(n.machine.String(), "process") {
					t.Error("mongod was started")
				}
				n.leave()
			})
		})
	}
}
