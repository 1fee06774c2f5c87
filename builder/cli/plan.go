package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"grove/builder/plan"
	"grove/internal/spec"
)

func planVerb() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "plan RECIPE", Short: "print the steps that make an image, and do none of them", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			img, err := image(args[0])
			if err != nil {
				return err
			}
			return writePlan(c.OutOrStdout(), img, asJSON)
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

type planned struct {
	ID    string   `json:"id"`
	Name  string   `json:"name"`
	After []string `json:"after,omitempty"`
}

func writePlan(out io.Writer, img spec.Image, asJSON bool) error {
	var steps []planned
	for _, s := range plan.Image(img) {
		steps = append(steps, planned{s.ID, s.Name, s.After})
	}
	if asJSON {
		return writeJSON(out, steps)
	}
	for n, s := range steps {
		line := fmt.Sprintf("%2d. %s", n+1, s.Name)
		if len(s.After) > 0 {
			line += " (after " + strings.Join(s.After, ", ") + ")"
		}
		fmt.Fprintln(out, line)
	}
	return nil
}
