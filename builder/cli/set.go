package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"grove/builder/lab/remote"
	"grove/builder/secrets"
	"grove/builder/set"
)

func setVerb() *cobra.Command {
	c := &cobra.Command{Use: "set", Short: "look at a replica set that runs, take a member out, have the primary step down"}
	c.AddCommand(setStatus(), setRemove(), setStepDown())
	onlyVerbs(c)
	return c
}

// setFlags say which set, and who asks.
type setFlags struct {
	out, at, secrets string
	asJSON           bool
}

func (f *setFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.at, "at", "", "any member, as HOST or HOST:PORT (default: the lab that is up)")
	c.Flags().StringVar(&f.secrets, "secrets", "", "the cluster's secrets, with the operator's login; the lab's own are found by themselves")
	c.Flags().StringVarP(&f.out, "out", "o", "out", "the folder that the lab was started with")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
}

// operator is who asks.
func (f setFlags) operator(ctx context.Context) (o set.Operator, err error) {
	file := f.secrets
	if f.at == "" {
		run, err := remote.Only(ctx, filepath.Join(f.out, "lab"))
		if err != nil {
			return o, usage{err}
		}
		o.Address = inLab(run)
		for _, n := range run.Nodes {
			o.Members = append(o.Members, n.Name)
		}
		if _, err := os.Stat(run.Secrets()); err == nil && file == "" {
			file = run.Secrets()
		}
	} else if o.Members = []string{f.at}; !strings.Contains(f.at, ":") {
		o.Members[0] = net.JoinHostPort(f.at, "27017")
	}
	if file == "" {
		return o, nil
	}
	s, err := secrets.Read(file)
	o.User, o.Password = s.Operator.User, string(s.Operator.Password)
	return o, err
}

// inLab gives the port of this machine that leads to a node of the lab.
func inLab(run remote.Run) func(string) string {
	return func(member string) string {
		name, _, _ := strings.Cut(member, ":")
		for _, n := range run.Nodes {
			if n.Name == name {
				return n.Mongod
			}
		}
		return member
	}
}

func (f setFlags) write(out io.Writer, s set.Set) error {
	if f.asJSON {
		return writeJSON(out, s)
	}
	primary := "no primary"
	if s.Primary != "" {
		primary = "primary " + s.Primary
	}
	fmt.Fprintf(out, "%s: %s, %d votes, configuration %d\n", s.Name, primary, s.Voters, s.Version)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MEMBER\tSTATE\tVOTES\tPRIORITY\tBEHIND\t")
	for _, m := range s.Members {
		behind := "-"
		if m.Behind >= 0 {
			behind = fmt.Sprintf("%.0f s", m.Behind)
		}
		said := m.Said
		if m.Hidden {
			said = strings.TrimPrefix(said+"; hidden", "; ")
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%s\t%s\t%d\t%g\t%s\t%s", m.Host, m.State, m.Votes, m.Priority, behind, said), "\t"))
	}
	return w.Flush()
}

func setStatus() *cobra.Command {
	var f setFlags
	c := &cobra.Command{Use: "status", Short: "the members, their states and votes, and how far they are behind", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := f.operator(c.Context())
			if err != nil {
				return err
			}
			s, err := o.Status(c.Context())
			if err != nil {
				return err
			}
			return f.write(c.OutOrStdout(), s)
		}}
	f.add(c)
	return c
}

func setRemove() *cobra.Command {
	var f setFlags
	c := &cobra.Command{Use: "remove MEMBER", Short: "take a member out of the set; never the primary, nor one that the majority or the last chance of a primary hangs on", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o, err := f.operator(c.Context())
			if err != nil {
				return err
			}
			s, err := o.Remove(c.Context(), args[0])
			if err != nil {
				return refusedOr(err)
			}
			if s.Voters%2 == 0 {
				fmt.Fprintf(c.ErrOrStderr(), "%s has %d votes now, an even number: it bears no more failures than %d would\n", s.Name, s.Voters, s.Voters-1)
			}
			fmt.Fprintf(c.ErrOrStderr(), "%s is out; take it out of replica_set.members too\n", args[0])
			return f.write(c.OutOrStdout(), s)
		}}
	f.add(c)
	return c
}

func refusedOr(err error) error {
	var no set.Refused
	if errors.As(err, &no) {
		return refusal{err}
	}
	return err
}

func setStepDown() *cobra.Command {
	var f setFlags
	var rest time.Duration
	c := &cobra.Command{Use: "stepdown", Short: "have the primary hand over to a secondary that has all it has", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if rest < 11*time.Second || rest > time.Hour {
				return usage{fmt.Errorf("--for: want 11s to 1h, have %s", rest)}
			}
			o, err := f.operator(c.Context())
			if err != nil {
				return err
			}
			was, err := o.StepDown(c.Context(), rest)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s has stepped down, and is not elected again for %s\n", was.Primary, rest)
			return nil
		}}
	f.add(c)
	c.Flags().DurationVar(&rest, "for", time.Minute, "how long it must not be elected again; at least 11s, as it waits 10 s for a secondary to catch up")
	return c
}
