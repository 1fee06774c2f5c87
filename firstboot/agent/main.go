package agent

import (
	"fmt"
	"os"
	"runtime/debug"

	"grove/firstboot/clock"
	"grove/firstboot/firewall"
	"grove/firstboot/metrics"
	"grove/firstboot/mongod"
	"grove/firstboot/network"
	"grove/firstboot/network/probe"
	"grove/firstboot/node"
	"grove/internal/host"
)

// Main is the agent on a node. It gives the exit code.
func Main() int {
	// The agent shares a small machine with mongod: a heap of some MB, and give back what is not used.
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(24 << 20)
	a := Agent{Machine: host.Real{}, Console: os.Stdout, Searched: os.NewFile(3, "PID 1's search"), Links: network.Kernel{}, NewClient: network.DHCP, Ready: mongod.Ready, Warnings: mongod.Warnings,
		Filter: firewall.Load, Addresses: Addresses, Listen: Listen, Server: new(metrics.Asker).Status,
		Wire: Wire{Time: clock.Ask, Echo: probe.Echo, Name: probe.Name, Metadata: node.Metadata}}
	if err := a.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
