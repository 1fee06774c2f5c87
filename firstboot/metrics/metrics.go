// Package metrics gives a node's figures to Prometheus: of the kernel by node_exporter's names, so that its dashboards work, of mongod by those of Percona's
// mongodb_exporter 0.11, and of the agent.
//
// Each is read when it is asked for. What cannot be had is not there: a kernel without a file has no such metric, and a mongod that wants a login gives its state, which
// the agent knows itself, and none of its counters (grove_mongod_server_status is 0 then).
package metrics

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.mongodb.org/mongo-driver/bson"

	"grove/firstboot/counters"
	"grove/firstboot/status"
	"grove/internal/host"
)

// Config is where the figures come from.
type Config struct {
	Machine host.Usages
	Root    string                                                     // before each path of the node, empty but in tests
	Status  func() status.Status                                       // of the node
	Server  func(ctx context.Context, port, pid int) (bson.Raw, error) // mongod's serverStatus
	Now     func() time.Time
	Pushed  func() map[string]float64 // of what is sent elsewhere, by its fate; nil when nothing is
}

// New gives a registry of all figures.
func New(c Config) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(&collector{c, counters.Kernel{Root: c.Root}}, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// asking is how long the figures of one answer may take, and how many are asked for at once: each costs some 1000 small objects.
const (
	asking   = 10 * time.Second
	atOnce   = 2
	askingMe = 3 * time.Second // of it, mongod
)

// Handler answers in Prometheus's text format. It is not compressed: that would cost the agent a megabyte for each who asks.
func Handler(g prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, DisableCompression: true, MaxRequestsInFlight: atOnce, Timeout: asking})
}

// collector makes the metrics anew each time; which there are depends on the kernel and on mongod, so that it describes none before.
type collector struct {
	Config
	kernel counters.Kernel
}

// Describe see prometheus.Collector.
func (*collector) Describe(chan<- *prometheus.Desc) {}

// Collect see prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	to := out{ch}
	now := c.Status()
	c.system(to)
	c.memory(to)
	c.disks(to)
	c.filesystems(to)
	c.links(to)
	c.protocols(to)
	c.temperature(to)
	arrays(to, now.Storage.Arrays)
	agent(to, now)
	mongod(to, now)
	c.server(to, now)
	if c.Pushed != nil {
		for fate, n := range c.Pushed() {
			to.counter("grove_push_samples_total", "Samples that were to be sent by remote write, by what became of them.", n, "result", fate)
		}
	}
}

// out is where metrics go. Labels are names and values in turn.
type out struct{ ch chan<- prometheus.Metric }

func (o out) gauge(name, help string, value float64, labels ...string) {
	o.send(prometheus.GaugeValue, name, help, value, labels)
}

func (o out) counter(name, help string, value float64, labels ...string) {
	o.send(prometheus.CounterValue, name, help, value, labels)
}

// untyped is for the kernel's long lists, of which only the kernel knows which ones only grow; node_exporter has them so.
func (o out) untyped(name, help string, value float64, labels ...string) {
	o.send(prometheus.UntypedValue, name, help, value, labels)
}

func (o out) send(kind prometheus.ValueType, name, help string, value float64, labels []string) {
	var names, values []string
	for i := 0; i+1 < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, strings.ToValidUTF8(labels[i+1], "?"))
	}
	m, err := prometheus.NewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, value, values...)
	if err != nil { // a name of the kernel's that is none of Prometheus's
		m = prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
	}
	o.ch <- m
}

// yes is a truth as a number.
func yes(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
