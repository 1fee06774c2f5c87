package metrics

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.mongodb.org/mongo-driver/bson"

	"grove/firstboot/counters"
	"grove/firstboot/status"
	"grove/internal/host"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// recorded is a node with an array that is being mended, and mongod without a login.
func recorded() Config {
	s := status.Status{Node: "db1", Image: "demo", Board: "m4.4xlarge", Phase: "serving", Problems: []string{"storage: md127 is degraded"}}
	s.Set = status.Set{Name: "rs0", State: "member", Voters: 3, Drift: []string{"db4 is in the set and not in the recipe"},
		Members: []status.SetMember{{Host: "db1:27017", State: "primary", Votes: 1, Priority: 1, Lag: 0}, {Host: "db2:27017", State: "unreachable", Lag: -1}}}
	s.Agent.Restarts = 2
	s.Mongod = status.Mongod{Version: "6.0.5", PID: 812, State: "ready", Port: 27017, Restarts: 1}
	s.Storage = status.Storage{State: "ready", Arrays: []status.Array{{Name: "md127", Level: "raid10", Disks: 4, Working: 3, Faulty: []string{"xvdc"}, Degraded: true, Sync: "recover", Percent: 25}}}
	s.Clock = status.Clock{Synced: true, Offset: 0.001}
	s.Tuning = status.Tuning{Values: []status.Tuned{{State: "set"}, {State: "set"}, {State: "absent"}}, Warnings: []status.Warning{{Kind: "fault"}, {Kind: "explained"}}}
	s.Firewall.State, s.SSH.Refused, s.Logs.Size = "loaded", 7, 4096
	s.Space = []status.Room{{Mount: "/state"}, {Mount: "/data", State: "nearly full"}}
	return Config{Root: "../counters/testdata", Machine: &host.FakeMachine{}, Status: func() status.Status { return s }, Now: func() time.Time { return time.Unix(1764568500, 0) },
		Server: func(context.Context, int, int) (bson.Raw, error) { return serverStatus(), nil },
		Pushed: func() map[string]float64 { return map[string]float64{"sent": 100, "dropped": 3} }}
}

func serverStatus() bson.Raw {
	raw, err := bson.Marshal(bson.D{{Key: "uptime", Value: 12.0}, {Key: "host", Value: "db1"},
		{Key: "connections", Value: bson.D{{Key: "current", Value: int32(3)}, {Key: "available", Value: int32(817)}, {Key: "totalCreated", Value: int64(9)}}},
		{Key: "opcounters", Value: bson.D{{Key: "insert", Value: int64(5)}, {Key: "deprecated", Value: bson.D{{Key: "query", Value: 1}}}}},
		{Key: "network", Value: bson.D{{Key: "bytesIn", Value: int64(100)}, {Key: "bytesOut", Value: int64(200)}, {Key: "numRequests", Value: int64(4)}}},
		{Key: "opLatencies", Value: bson.D{{Key: "reads", Value: bson.D{{Key: "latency", Value: int64(10)}, {Key: "ops", Value: int64(2)}}}}},
		{Key: "wiredTiger", Value: bson.D{{Key: "cache", Value: bson.D{{Key: "bytes currently in the cache", Value: int64(65536)}, {Key: "tracked dirty bytes in the cache", Value: int64(1)}, {Key: "maximum bytes configured", Value: int64(1 << 30)}}}}}})
	if err != nil {
		panic(err)
	}
	return raw
}

// text is what a scrape of the node's own figures gives, without those of the agent's process.
func text(t *testing.T, c Config) string {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(&collector{c, counters.Kernel{Root: c.Root}}); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func TestFiguresOfARecordedNode(t *testing.T) {
	got := text(t, recorded())
	golden := filepath.Join("testdata", "metrics.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

// Prometheus's own judge. node_exporter, whose names these are, leaves out node_memory_ and node_netstat_ too: they are the kernel's words.
func TestPrometheusFindsNoFault(t *testing.T) {
	found, err := promlint.New(strings.NewReader(text(t, recorded()))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		if !strings.HasPrefix(p.Metric, "node_memory_") && !strings.HasPrefix(p.Metric, "node_netstat_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestWhatCannotBeHadIsLeftOut(t *testing.T) {
	c := recorded()
	c.Root, c.Pushed = t.TempDir(), nil
	c.Server = func(context.Context, int, int) (bson.Raw, error) { return nil, errors.New("not authorized") }
	got := text(t, c)
	for _, name := range []string{"node_memory_", "node_pressure_", "node_disk_", "node_filesystem_", "mongodb_connections", "grove_push_"} {
		if strings.Contains(got, "\n"+name) {
			t.Errorf("%s is there", name)
		}
	}
	for _, line := range []string{"mongodb_up 1", "grove_mongod_server_status 0", "grove_agent_restarts_total 2"} {
		if !strings.Contains(got, "\n"+line+"\n") {
			t.Errorf("want %q in\n%s", line, got)
		}
	}
}

func TestMongodThatDoesNotAnswerIsNotAsked(t *testing.T) {
	c := recorded()
	s := c.Status()
	s.Mongod.State = "waiting"
	c.Status = func() status.Status { return s }
	c.Server = func(context.Context, int, int) (bson.Raw, error) { t.Error("it is asked"); return nil, nil }
	if got := text(t, c); !strings.Contains(got, "\nmongodb_up 0\n") || strings.Contains(got, "grove_mongod_server_status") {
		t.Errorf("got\n%s", got)
	}
}

// What goes over the wire is what the parser of Prometheus's clients reads, with the figures of the agent's own process.
func TestHandler(t *testing.T) {
	w := httptest.NewRecorder()
	Handler(New(recorded())).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("%d, %v", w.Code, err)
	}
	for _, name := range []string{"process_resident_memory_bytes", "process_open_fds", "node_load1", "mongodb_connections"} {
		if families[name] == nil {
			t.Errorf("%s is not there", name)
		}
	}
}

// One that can't be reached is an error within the time that a scrape has for it.
func TestMongodThatIsGone(t *testing.T) {
	var a Asker
	defer a.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := a.Status(ctx, 1, 5, "", ""); err == nil {
		t.Error("got an answer of port 1")
	}
}
