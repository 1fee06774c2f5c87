package agent

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime/debug"

	"go.mongodb.org/mongo-driver/bson"

	"grove/firstboot/clock"
	"grove/firstboot/firewall"
	"grove/firstboot/metrics"
	"grove/firstboot/mongod"
	"grove/firstboot/network"
	"grove/firstboot/network/probe"
	"grove/firstboot/node"
	"grove/firstboot/wall"
	"grove/internal/host"
)

// Main is the agent on a node. It gives the exit code.
func Main() int {
	// The agent shares a small machine with mongod: a heap of some MB, and give back what is not used.
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(24 << 20)
	a := Agent{Machine: host.Real{}, Console: os.Stdout, Searched: os.NewFile(3, "PID 1's search"), Links: network.Kernel{}, NewClient: network.DHCP, Ready: mongod.Ready,
		Filter: firewall.Load, Addresses: wall.Addresses, Listen: listen,
		Wire: Wire{Time: clock.Ask, Echo: probe.Echo, Name: probe.Name, Metadata: node.Metadata}}
	asker := new(metrics.Asker)
	a.Server = func(ctx context.Context, port, pid int) (bson.Raw, error) {
		l := a.login()
		return asker.Status(ctx, port, pid, l.User, l.Password)
	}
	a.Warnings = func(ctx context.Context, port int, log string) ([]string, error) {
		return mongod.Warnings(ctx, port, log, a.login())
	}
	if err := a.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// listen opens a TCP port on all addresses.
func listen(port int) (net.Listener, error) { return net.Listen("tcp", fmt.Sprintf(":%d", port)) }
