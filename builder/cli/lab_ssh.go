package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"
	"golang.org/x/term"

	"grove/builder/lab/remote"
)

// ended is the exit code of a program that ran elsewhere; grove ends with it and says nothing.
type ended int

func (e ended) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func labSSH() *cobra.Command {
	var f shellFlags
	c := &cobra.Command{Use: "ssh NODE [-- COMMAND...]", Short: "a root shell, or a command, on a node of a lab that is up in another terminal; the exit code is the command's", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			command := args[1:]
			if len(command) > 0 && command[0] == "--" {
				command = command[1:]
			}
			return f.run(c.Context(), args[0], strings.Join(command, " "), remote.Person{In: c.InOrStdin(), Out: c.OutOrStdout(), Err: c.ErrOrStderr()})
		}}
	c.Flags().StringVarP(&f.out, "out", "o", "out", "the folder that the lab was started with")
	c.Flags().IntSliceVarP(&f.forward, "forward", "L", nil, "a port of the node's loopback address to be had at the same port of this machine's, meanwhile; repeatable")
	c.Flags().SetInterspersed(false) // what follows the node is the command's
	return c
}

type shellFlags struct {
	out     string
	forward []int
}

func (f shellFlags) run(ctx context.Context, node, command string, p remote.Person) error {
	for _, port := range f.forward {
		if port < 1 || port > 65535 {
			return usage{fmt.Errorf("--forward: want a port from 1 to 65535, have %d", port)}
		}
	}
	run, n, err := remote.Find(ctx, filepath.Join(f.out, "lab"), node)
	if err != nil {
		return usage{err}
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", n.SSH)
	if err != nil {
		return err
	}
	client, err := remote.Dial(ctx, conn, run.Dir, n.Name, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, port := range f.forward {
		if err := remote.Forward(ctx, client, port); err != nil {
			return err
		}
	}
	code, err := talk(ctx, client, command, p)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", n.Name, err)
	case code < 0:
		return fmt.Errorf("%s: a signal ended the command", n.Name)
	case code > 0:
		return ended(code)
	}
	return nil
}

// talk hands a terminal over to the node, keys and all, for as long as the session lasts. A command gets one as well where both of its ends are a terminal's.
func talk(ctx context.Context, client *ssh.Client, command string, p remote.Person) (code int, err error) {
	in, isFile := p.In.(*os.File)
	if out, is := p.Out.(*os.File); isFile && is && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) {
		before, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return 0, fmt.Errorf("take over the terminal: %w", err)
		}
		defer term.Restore(int(in.Fd()), before)
		p.Term = os.Getenv("TERM")
		p.Size = func() (columns, rows int) {
			columns, rows, err := term.GetSize(int(out.Fd()))
			if err != nil {
				return 80, 24
			}
			return columns, rows
		}
	}
	return remote.Talk(ctx, client, command, p)
}
