package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"grove/builder/catalog"
	"grove/builder/resolve"
	"grove/internal/diag"
	"grove/internal/spec"
)

// image reads and resolves a recipe; findings are the error.
func image(nameOrPath string) (spec.Image, error) {
	pair, found, err := catalog.Find(nameOrPath)
	if err != nil {
		return spec.Image{}, err
	}
	img, more := resolve.Image(pair)
	for _, m := range more {
		if !told(found, m.Key) {
			found = append(found, m)
		}
	}
	return img, found.Err()
}

// told is whether a key, or one above it, could not be read: what resolve says of it then is a consequence.
func told(found diag.Findings, key string) bool {
	for _, f := range found {
		if f.Key == "" || f.Key == key || strings.HasPrefix(key, f.Key+".") || strings.HasPrefix(key, f.Key+"[") {
			return true
		}
	}
	return false
}

func list() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Short: "list the boards and recipes that come with grove", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return writeList(c.OutOrStdout(), asJSON) }}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

type listed struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Board string `json:"board,omitempty"`
	Tier  string `json:"tier"`
}

func writeList(out io.Writer, asJSON bool) error {
	var boards, recipes []listed
	for _, name := range catalog.Boards() {
		b, _, found, err := catalog.Board(name)
		if err != nil || len(found) > 0 {
			return fmt.Errorf("BUG: board %s: %w", name, found.Err())
		}
		boards = append(boards, listed{Name: name, Title: b.Title, Tier: b.Tier})
	}
	for _, name := range catalog.Recipes() {
		img, err := image(name)
		if err != nil {
			return err
		}
		recipes = append(recipes, listed{name, img.Title, img.Board.Name, img.Board.Tier})
	}
	if asJSON {
		return writeJSON(out, map[string]any{"boards": boards, "recipes": recipes})
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BOARD\tTITLE\tTIER")
	for _, b := range boards {
		fmt.Fprintf(w, "%s\t%s\t%s\n", b.Name, b.Title, b.Tier)
	}
	fmt.Fprintln(w, "\t\t\nRECIPE\tTITLE\tBOARD")
	for _, r := range recipes {
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, r.Title, r.Board)
	}
	return w.Flush()
}

func check() *cobra.Command {
	return &cobra.Command{Use: "check RECIPE...", Short: "find all that can't boot or run, before anything is downloaded", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return checkAll(c.OutOrStdout(), args) }}
}

func show() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "show RECIPE", Short: "print the complete spec of an image, every default filled in", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			img, err := image(args[0])
			if err != nil {
				return err
			}
			return writeSpec(c.OutOrStdout(), img, asJSON)
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func writeSpec(out io.Writer, img spec.Image, asJSON bool) error {
	if asJSON {
		return writeJSON(out, img)
	}
	enc := yaml.NewEncoder(out)
	enc.SetIndent(2)
	defer enc.Close()
	return enc.Encode(img)
}

func writeJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
