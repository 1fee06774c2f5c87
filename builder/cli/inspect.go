package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"grove/builder/artifact"
	"grove/internal/step"
)

func inspect() *cobra.Command {
	var asJSON, verify bool
	c := &cobra.Command{Use: "inspect IMAGE", Short: "look into an image: partitions, boot loaders, files, what it was made of", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			a, err := artifact.Open(args[0])
			if err != nil {
				return err
			}
			if verify {
				if err := a.Verify(c.Context(), step.Silent{}); err != nil {
					return err
				}
			}
			found, err := a.Inspect()
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(c.OutOrStdout(), map[string]any{"image": a.Path, "found": found, "manifest": a.Manifest, "verified": verify})
			}
			return writeInspection(c.OutOrStdout(), a, found, verify)
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the whole manifest")
	c.Flags().BoolVar(&verify, "verify", false, "compare the whole image with its manifest's sha256")
	return c
}

func writeInspection(out io.Writer, a artifact.Artifact, found artifact.Inspection, verified bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s: %s, disk %s, boots by %s\n", a.Path, found.Size, found.Disk, strings.Join(found.Loaders, " and "))
	if found.Damaged {
		fmt.Fprintln(w, "the partition table at the start is damaged; this is its backup")
	}
	fmt.Fprintln(w, "NO\tNAME\tSTART\tSIZE\tUSED\tHOLDS")
	for _, p := range found.Partitions {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", p.Number, p.Name, p.Start, p.Size, p.Used.Short(), p.Holds)
		for _, path := range slices.Sorted(maps.Keys(p.Files)) {
			fmt.Fprintf(w, "\t  %s\t\t\t%s\t\n", path, p.Files[path].Short())
		}
	}
	if err := w.Flush(); err != nil || a.Manifest == nil {
		return err
	}
	m := a.Manifest
	fmt.Fprintf(out, "made of recipe %s by grove %s and %s: mongod %s, kernel %s, %d packages, %d files in the system\n", m.Image, m.Grove, m.Go, m.Mongod.Version, m.Kernel, len(m.Packages), len(m.System))
	fmt.Fprintf(out, "sha256 %s%s\n", m.Digest.SHA256, map[bool]string{true: ", verified", false: " by its manifest"}[verified])
	return nil
}
