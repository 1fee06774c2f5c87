// Package cli is the command grove: one file a verb, and the only place that prints or chooses an exit code.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"grove/builder/catalog"
	"grove/internal/diag"
)

// The exit codes, as README gives them.
const (
	exitFault       = 1   // something did not work
	exitUsage       = 2   // the command line is wrong
	exitFindings    = 3   // a file has faults
	exitRefused     = 4   // refused for safety
	exitInterrupted = 130 // Ctrl-C
)

// usage is an error of the command line.
type usage struct{ error }

// refusal is an error of something that was not done because it would do harm.
type refusal struct{ error }

// Main runs the command and gives its exit code. Ctrl-C ends what runs in order; a second one ends at once.
func Main(args []string, out, errs io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	go func() { <-ctx.Done(); stop() }()
	root := command(out, errs)
	root.SetArgs(args)
	return explain(ctx, root.ExecuteContext(ctx), errs)
}

func command(out, errs io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "grove",
		Short: "grove turns a board file and a recipe into a bootable MongoDB appliance",
		Long: "grove turns a board file and a recipe into a bootable MongoDB appliance: a disk image that boots from its own loader and serves mongod.\n" +
			"RECIPE is the name of one that comes with grove (see grove list) or the path of a file.\n\n" +
			"Exit codes: 0 done, 1 fault, 2 usage, 3 findings in a file, 4 refused for safety, 130 interrupted; of lab ssh the command's.",
		SilenceUsage: true, SilenceErrors: true,
	}
	root.SetOut(out)
	root.SetErr(errs)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage{err} })
	root.AddCommand(list(), check(), show(), planVerb(), build(), inspect(), nodeVerb(), labVerb(), setVerb(), version())
	onlyVerbs(root)
	for _, c := range root.Commands() {
		wrapArgs(c)
	}
	return root
}

// onlyVerbs makes a command that has verbs and does nothing itself: cobra would answer a misspelt verb with its help and code 0.
func onlyVerbs(c *cobra.Command) {
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		var names []string
		for _, sub := range c.Commands() {
			names = append(names, sub.Name())
		}
		return usage{fmt.Errorf("unknown command %q for %s%s", args[0], c.CommandPath(), diag.Meant(args[0], names))}
	}
}

// wrapArgs makes faults of arguments usage errors, in sub-commands too.
func wrapArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usage{fmt.Errorf("%w\nusage: %s", err, c.UseLine())}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

// explain prints an error once, in the form that fits it.
func explain(ctx context.Context, err error, errs io.Writer) int {
	var found diag.Findings
	var badUsage usage
	var refused refusal
	var elsewhere ended
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(errs, "grove: interrupted")
		return exitInterrupted
	case errors.As(err, &elsewhere):
		return int(elsewhere)
	case errors.As(err, &found):
		found.Write(errs)
		return exitFindings
	case errors.As(err, &badUsage):
		fmt.Fprintln(errs, "grove:", err)
		return exitUsage
	case errors.Is(err, catalog.Unknown):
		fmt.Fprintln(errs, "grove:", err)
		return exitUsage
	case errors.As(err, &refused):
		fmt.Fprintln(errs, "grove: refused:", err)
		return exitRefused
	}
	fmt.Fprintln(errs, "grove:", err)
	return exitFault
}
