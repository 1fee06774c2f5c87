// Package mkfs has the command lines that make file systems and swap.
package mkfs

import (
	"fmt"

	"grove/firstboot/plan/act"
	"grove/internal/host"
)

// Command does the act. mkfs.xfs and mkswap have their own look and refuse what is not empty, unless it is our own half-finished work; mke2fs only asks a
// person at a terminal, and has to rely on the node's own look.
func Command(a act.Act) host.Command {
	var path string
	var args []string
	switch {
	case a.Kind == act.MakeFS && a.Type == "xfs":
		path, args = "/usr/sbin/mkfs.xfs", []string{"-q", "-m", "uuid=" + a.UUID, "-L", a.Label}
		if a.Redo {
			args = append(args, "-f")
		}
	case a.Kind == act.MakeFS && a.Type == "ext4":
		path, args = "/usr/sbin/mke2fs", []string{"-q", "-t", "ext4", "-U", a.UUID, "-L", a.Label}
	case a.Kind == act.MakeSwap || a.Kind == act.MakeSwapfile || a.Kind == act.MakeZram:
		path, args = "/usr/sbin/mkswap", []string{"-U", a.UUID, "-L", a.Label}
		if a.Redo {
			args = append(args, "-f")
		}
	default:
		panic(fmt.Sprintf("BUG: %s of type %q is not made here", a.Kind, a.Type))
	}
	return host.Command{Path: path, Args: append(args, a.Dev)}
}
