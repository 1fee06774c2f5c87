package verb

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"grove/firstboot/status"
)

// Firewall prints the rules that the agent has loaded, as nft would list them. With --json the networks as well. It gives the exit code.
func Firewall(args []string) int {
	now := status.Read(status.File)
	switch {
	case now.Agent.PID == 0:
		fmt.Fprintln(os.Stderr, "read "+status.File+": the agent has not written it yet")
		return 1
	case slices.Contains(args, "--json"):
		out, err := json.MarshalIndent(now.Firewall, "", "  ")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(string(out))
	case now.Firewall.State != "loaded":
		fmt.Fprintln(os.Stderr, "there are no rules; see the problems in "+status.File)
		return 1
	default:
		fmt.Print(now.Firewall.Rules)
	}
	return 0
}
