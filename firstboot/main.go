// Command firstboot is what runs on a node: as PID 1 when the kernel starts it, as the agent when PID 1 does, and as poweroff and reboot when a person
// calls it by these names.
package main

import (
	"os"
	"path/filepath"

	"grove/firstboot/agent"
	"grove/firstboot/pid1"
)

func main() {
	name := filepath.Base(os.Args[0])
	switch {
	case name == "poweroff" || name == "halt" || name == "reboot" || name == "shutdown":
		os.Exit(pid1.Ask(name, os.Args[1:]))
	case len(os.Args) > 1 && os.Args[1] == "agent":
		os.Exit(agent.Main())
	case len(os.Args) > 1 && os.Args[1] == "facts":
		os.Exit(agent.Facts())
	case len(os.Args) > 1 && os.Args[1] == "plan":
		os.Exit(agent.Plan(os.Args[2:]))
	case len(os.Args) > 1 && os.Args[1] == "tuning":
		os.Exit(agent.Tuning(os.Args[2:]))
	case len(os.Args) > 1 && os.Args[1] == "storage":
		os.Exit(agent.Rebuild(os.Args[2:]))
	case len(os.Args) > 1 && os.Args[1] == "network":
		os.Exit(agent.Network(os.Args[2:]))
	case os.Getpid() == 1:
		pid1.Main()
	}
	os.Stderr.WriteString("firstboot is started by the kernel of a Grove node; a person may call it with facts, plan [--json], storage rebuild /dev/NAME, or network mtu N\n")
	os.Exit(2)
}
