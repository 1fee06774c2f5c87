package metrics

import (
	"context"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/bsontype"

	"grove/firstboot/status"
)

// figure is one of serverStatus's documents, or one number of it. keys are those that are taken, with the label's value where it is another: bytesIn=in_bytes; none: all
// numbers.
type figure struct {
	at    string // wiredTiger.cache
	keys  []string
	label string
	metric
}

const writes, reads = "writers=writer", "readers=reader"

// figures are those of serverStatus that its manual explains, and that are there from 3.0 to 8.x or with one storage engine.
var figures = []figure{
	{"", []string{"uptime"}, "", metric{"mongodb_instance_uptime_seconds", "Seconds since the mongod process was started.", false}},
	{"connections", []string{"current", "available", "active"}, "state", metric{"mongodb_connections", "Connections by state.", false}},
	{"connections", []string{"totalCreated"}, "", metric{"mongodb_connections_metrics_created_total", "Connections created.", true}},
	{"opcounters", nil, "type", metric{"mongodb_op_counters_total", "Operations by type since mongod's start.", true}},
	{"opcountersRepl", nil, "type", metric{"mongodb_op_counters_repl_total", "Replicated operations by type since mongod's start.", true}},
	{"network", []string{"bytesIn=in_bytes", "bytesOut=out_bytes"}, "state", metric{"mongodb_network_bytes_total", "Network traffic of the database.", true}},
	{"network", []string{"numRequests"}, "", metric{"mongodb_network_metrics_num_requests_total", "Distinct requests that the server has received.", true}},
	{"mem", []string{"resident", "virtual"}, "type", metric{"mongodb_memory", "Memory of mongod in MiB.", false}},
	{"asserts", nil, "type", metric{"mongodb_asserts_total", "Asserts since mongod's start.", true}},
	{"extra_info", []string{"page_faults"}, "", metric{"mongodb_extra_info_page_faults_total", "Page faults that need disk operations.", true}},
	{"globalLock.currentQueue", []string{reads, writes}, "type", metric{"mongodb_mongod_global_lock_current_queue", "Operations queued because of a lock.", false}},
	{"globalLock.activeClients", []string{reads, writes}, "type", metric{"mongodb_mongod_global_lock_client", "Clients with operations in progress.", false}},
	{"opLatencies.reads", []string{"latency"}, "type=read", latency}, {"opLatencies.writes", []string{"latency"}, "type=write", latency},
	{"opLatencies.commands", []string{"latency"}, "type=command", latency},
	{"opLatencies.reads", []string{"ops"}, "type=read", operations}, {"opLatencies.writes", []string{"ops"}, "type=write", operations},
	{"opLatencies.commands", []string{"ops"}, "type=command", operations},
	{"metrics.document", nil, "state", metric{"mongodb_mongod_metrics_document_total", "Documents by what was done to them.", true}},
	{"metrics.cursor.open", nil, "state", metric{"mongodb_mongod_metrics_cursor_open", "Open cursors.", false}},
	{"metrics.cursor", []string{"timedOut"}, "", metric{"mongodb_mongod_metrics_cursor_timed_out_total", "Cursors that have timed out.", true}},
	{"wiredTiger.cache", []string{"bytes currently in the cache=total", "tracked dirty bytes in the cache=dirty"}, "type", metric{"mongodb_mongod_wiredtiger_cache_bytes", "Data in the cache.", false}},
	{"wiredTiger.cache", []string{"maximum bytes configured"}, "", metric{"mongodb_mongod_wiredtiger_cache_max_bytes", "The cache's size.", false}},
	{"wiredTiger.cache", []string{"bytes read into cache=read", "bytes written from cache=written"}, "type", metric{"mongodb_mongod_wiredtiger_cache_bytes_total", "Data read into and written from the cache.", true}},
	{"wiredTiger.cache", []string{"modified pages evicted=modified", "unmodified pages evicted=unmodified"}, "type", metric{"mongodb_mongod_wiredtiger_cache_evicted_total", "Pages evicted from the cache.", true}},
	{"backgroundFlushing", []string{"flushes"}, "", metric{"mongodb_mongod_background_flushing_flushes_total", "Flushes of MMAPv1's data files.", true}},
}

var (
	latency    = metric{"mongodb_mongod_op_latencies_latency_total", "Microseconds of operations by type.", true}
	operations = metric{"mongodb_mongod_op_latencies_ops_total", "Operations whose time was taken, by type.", true}
)

// server asks mongod only when it answers: a question to one that does not would hold up all other figures.
func (c *collector) server(to out, s status.Status) {
	if s.Mongod.State != "ready" || c.Server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), askingMe)
	defer cancel()
	told, err := c.Server(ctx, s.Mongod.Port, s.Mongod.PID)
	to.gauge("grove_mongod_server_status", "Whether mongod gives its counters; one that wants a login does not.", yes(err == nil))
	if err == nil {
		for _, f := range figures {
			f.send(to, told)
		}
	}
}

func (f figure) send(to out, told bson.Raw) {
	if f.at != "" {
		v, err := told.LookupErr(strings.Split(f.at, ".")...)
		inner, is := v.DocumentOK()
		if err != nil || !is {
			return
		}
		told = inner
	}
	elements, err := told.Elements()
	if err != nil {
		return
	}
	for _, e := range elements {
		value, wanted := f.named(e.Key())
		n, is := number(e.Value())
		if !wanted || !is {
			continue
		}
		switch label, fixed, isFixed := strings.Cut(f.label, "="); {
		case label == "":
			f.metric.send(to, n)
		case isFixed:
			f.metric.send(to, n, label, fixed)
		default:
			f.metric.send(to, n, label, value)
		}
	}
}

// named gives the label's value of a key.
func (f figure) named(key string) (value string, wanted bool) {
	for _, k := range f.keys {
		if from, to, renamed := strings.Cut(k, "="); from == key {
			if !renamed {
				to = from
			}
			return to, true
		}
	}
	return key, len(f.keys) == 0
}

func number(v bson.RawValue) (float64, bool) {
	switch v.Type {
	case bsontype.Int32, bsontype.Int64:
		return float64(v.AsInt64()), true
	case bsontype.Double:
		return v.Double(), true
	}
	return 0, false
}
