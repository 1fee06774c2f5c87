// Package raid has the command lines of mdadm for the acts on arrays, and tells how an array fares.
//
// Arrays have metadata 1.2, which lies at the start of a member and so is seen by whoever looks, and a bitmap, so that after a loss of power only what was being
// written is synchronized again. Without udev mdadm makes /dev/md/grove itself. Standard input is empty: where mdadm has doubts and asks, the answer is no.
package raid

import (
	"fmt"
	"os"

	"grove/firstboot/plan/act"
	"grove/internal/host"
	"grove/internal/size"
)

const program = "/usr/sbin/mdadm"

// Command does the act.
func Command(a act.Act) host.Command {
	switch a.Kind {
	case act.CreateArray:
		return create(a)
	case act.Assemble:
		args := []string{"--assemble", a.Dev, "--uuid=" + a.UUID}
		if a.Run {
			args = append(args, "--run")
		}
		return host.Command{Path: program, Args: append(args, a.From...)}
	case act.AddMember:
		return host.Command{Path: program, Args: append([]string{"--manage", a.Dev, "--add"}, a.From...)}
	}
	panic(fmt.Sprintf("BUG: %s is not done by mdadm", a.Kind))
}

// create does not force: --run only keeps mdadm from asking about the superblocks of our own first attempt. The host is called any, as Ignition has it: an array
// that is bound to a host's name is a stranger's after a new name.
func create(a act.Act) host.Command {
	args := []string{"--create", a.Dev, "--uuid=" + a.UUID, "--name=" + a.Label, "--homehost=any", "--metadata=1.2", "--level=" + a.Level}
	if a.Level == "10" {
		args = append(args, "--layout=n2")
	}
	if a.Chunk != 0 {
		args = append(args, fmt.Sprintf("--chunk=%d", a.Chunk/size.KiB))
	}
	if a.Level != "0" {
		args = append(args, "--bitmap=internal")
	}
	if a.Redo {
		args = append(args, "--run")
	}
	return host.Command{Path: program, Args: append(append(args, fmt.Sprintf("--raid-devices=%d", len(a.From))), a.From...)}
}

// Speeds in KiB/s a disk: of synchronizing while a node starts, when there is better use for its disks, and the kernel's own bound (SYNC_SPEED_MAX, drivers/md/md.c).
const (
	Calm  = 8 << 10
	Hurry = 200000
)

// Bound sets the most that synchronizing may take, of all arrays. root stands before /proc. The file is there once the module is.
func Bound(root string, kib int) error {
	return os.WriteFile(root+"/proc/sys/dev/raid/speed_limit_max", fmt.Appendln(nil, kib), 0o644)
}
