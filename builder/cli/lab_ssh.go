package cli

import (
	"context"
	"fmt"
	"io"
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
	var out string
	c := &cobra.Command{Use: "ssh NODE [-- COMMAND...]", Short: "a root shell, or a command, on a node of a lab that is up in another terminal; the exit code is the command's", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return labShell(c.Context(), filepath.Join(out, "lab"), args[0], strings.Join(args[1:], " "), c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		}}
	c.Flags().StringVarP(&out, "out", "o", "out", "the folder that the lab was started with")
	c.Flags().SetInterspersed(false) // what follows the node is the command's
	return c
}

func labShell(ctx context.Context, labs, node, command string, in io.Reader, out, errs io.Writer) error {
	run, n, err := remote.Find(ctx, labs, node)
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
	code, err := talk(ctx, client, command, remote.Person{In: in, Out: out, Err: errs})
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
