package verb

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"grove/firstboot/status"
	"grove/firstboot/tuning"
)

// Tuning prints what the agent wants of the kernel and of mongod, and what is now; it sets nothing. With --json all of it. It gives the exit code.
func Tuning(args []string) int {
	now := status.Read(status.File)
	if now.Agent.PID == 0 {
		fmt.Fprintln(os.Stderr, "read "+status.File+": the agent has not written it yet")
		return 1
	}
	now.Tuning.Values = tuning.Present("", now.Tuning.Values, now.Mongod.PID)
	if !slices.Contains(args, "--json") {
		showTuning(os.Stdout, now.Tuning)
		return 0
	}
	out, err := json.MarshalIndent(now.Tuning, "", "  ")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(string(out))
	return 0
}

func showTuning(w io.Writer, t status.Tuning) {
	fmt.Fprintf(w, "profile %s\n", t.Profile)
	for _, v := range t.Values {
		least := ""
		if v.AtLeast {
			least = "at least "
		}
		fmt.Fprintf(w, "%s: is %s, want %s%s, was %s: %s (%s)\n", v.Name, v.After, least, v.Want, v.Before, v.State, v.Source)
	}
	for _, d := range t.Differs {
		fmt.Fprintln(w, d)
	}
	for _, one := range t.Warnings {
		fmt.Fprintf(w, "mongod warns: %s: %s\n", one.Text, one.Explanation)
	}
}
