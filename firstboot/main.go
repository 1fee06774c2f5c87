// Command firstboot is what runs on a node: as PID 1 when the kernel starts it, as the agent when PID 1 does, and as poweroff and reboot when a person
// calls it by these names.
package main

import (
	"os"
	"path/filepath"

	"grove/firstboot/agent"
	"grove/firstboot/agent/verb"
	"grove/firstboot/pid1"
)

// verbs are what the program does by its first word: agent is PID 1's, the others are a person's at the node's shell.
var verbs = map[string]func(args []string) (code int){
	"agent":    func([]string) int { return agent.Main() },
	"facts":    func([]string) int { return verb.Facts() },
	"plan":     verb.Plan,
	"tuning":   verb.Tuning,
	"storage":  verb.Rebuild,
	"network":  verb.Network,
	"firewall": verb.Firewall,
}

const usage = "firstboot is started by the kernel of a Grove node; a person may call it with facts, plan [--json], tuning [--json], firewall [--json], storage rebuild /dev/NAME, network mtu N or network mtu back\n"

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "poweroff", "halt", "reboot", "shutdown":
		os.Exit(pid1.Ask(name, os.Args[1:]))
	}
	if len(os.Args) > 1 && verbs[os.Args[1]] != nil {
		os.Exit(verbs[os.Args[1]](os.Args[2:]))
	}
	if os.Getpid() == 1 {
		pid1.Main()
	}
	os.Stderr.WriteString(usage)
	os.Exit(2)
}
