package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func version() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "version", Short: "print the version of grove and of the Go that built it", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v := map[string]string{"grove": built(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
			if asJSON {
				return writeJSON(c.OutOrStdout(), v)
			}
			fmt.Fprintf(c.OutOrStdout(), "grove %s, %s, %s\n", v["grove"], v["go"], v["platform"])
			return nil
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// built is the module's version, or the commit that it was built from.
func built() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return info.Main.Version
}
