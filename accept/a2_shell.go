package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"grove/builder/lab"
	"grove/internal/spec"
)

// shell types a command at a node's root shell and gives what it printed, without what the node's agent says on the same line meanwhile. A command that fails is an
// error with its output.
//
// The marks around the output are typed in two pieces, so that the shell's echo of the line is not taken for them.
func shell(ctx context.Context, l *lab.Lab, node, command string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("no answer within a minute"))
	defer cancel()
	if err := typed(ctx, l, node, `echo "<<"":"; `+command+`; echo ">>"":$?;"`); err != nil {
		return "", err
	}
	found, err := l.Expect(ctx, node, regexp.MustCompile(`(?s)<<:\n(.*?)>>:(\d+);`))
	if err != nil {
		return "", fmt.Errorf("type %q: %w", command, err)
	}
	out := withoutTalk(found[1])
	if found[2] != "0" {
		return out, fmt.Errorf("%q on %s: exit code %s: %s", command, node, found[2], out)
	}
	return out, nil
}

// typed types a line until the node's console has shown it: a console whose shell is just being started anew loses what is typed meanwhile.
func typed(ctx context.Context, l *lab.Lab, node, line string) error {
	for {
		if err := l.Type(node, line); err != nil {
			return err
		}
		seen, cancel := context.WithTimeout(ctx, 15*time.Second)
		_, err := l.Expect(seen, node, regexp.MustCompile(`echo "<<"":"`))
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// withoutTalk leaves out the node's own lines, which may stand at the end of a line of output.
func withoutTalk(out string) string {
	var kept []string
	for _, line := range strings.Split(strings.TrimRight(out, "\n"), "\n") {
		if said, is := spec.ParseLine(line); is {
			line = strings.TrimSuffix(strings.TrimRight(line, "\r"), said.String())
			if line == "" {
				continue
			}
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}
