// Package sight is where a node is looked at: the status page, the metrics that are fetched or sent elsewhere, samples of what the node was busy with, and a page for the data.
//
// Each part is on only as the settings say, none holds up another, and what can't be is tried again and is a problem meanwhile.
package sight

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.mongodb.org/mongo-driver/bson"

	"grove/firstboot/push"
	"grove/firstboot/recorder"
	"grove/firstboot/voice"
	"grove/internal/host"
)

// Site is one node's. Root stands before every path, empty but in tests.
type Site struct {
	Machine host.Machine
	Root    string
	Server  func(ctx context.Context, port, pid int) (bson.Raw, error) // mongod's counters; nil: it is not asked for them
	Listen  func(port int) (net.Listener, error)
	Stands  func(context.Context) bool                  // waits for the firewall; false with ctx
	State   func(context.Context) (mounted, known bool) // waits until it was tried to mount the state partition; not known with ctx
	Voice   *voice.Voice

	figures  *prometheus.Registry
	recorder atomic.Pointer[recorder.Recorder] // nil until the state was mounted
	pusher   atomic.Pointer[push.Pusher]       // nil when nothing is sent
}
