package host

import (
	"context"
	"os"
	"time"

	"grove/internal/size"
)

// Machine is what the agent needs of the node that it runs on, beside plain files.
type Machine interface {
	Clock
	Talks
	Usages
	Usages
	// Told gives two channels that are closed once PID 1 (or a person) asks: leave means that the agent ends and touches nothing, stop that the node goes
	// down and mongod has to end first.
	Told() (leave, stop <-chan struct{})
	Uptime() time.Duration // since the kernel's start
	Memory() (size.Size, error)
	SetHostname(name string) error

	MakeDir(path string, mode os.FileMode, uid, gid int) error // with its parents; mode and owner are set on it even if it is there
	// WriteFor writes a file that only this user can read, and not even he can write, whole or not at all.
	WriteFor(path string, data []byte, uid, gid int) error
	Mount(m Mount) error
	Unmount(target string) error
	Mounted(target string) (source string, mounted bool)
	Space(path string) (total, free size.Size, err error)
	// ResizePartition tells the kernel where a partition in use ends now; the table on the medium is not its affair. start and length are bytes.
	ResizePartition(disk string, number int, start, length size.Size) error
	// ResizeExt4 grows a mounted ext4; the kernel does all the work, at most a few MiB of it.
	ResizeExt4(mounted string, blocks int64) error

	// IsMountPoint tells whether something is mounted on a folder: its device is not that of the folder above.
	IsMountPoint(path string) (bool, error)
	// LoadModule puts a module's file into the kernel; one that is there already is no error.
	LoadModule(file string) error
	// Allocate makes a file of this length without holes, and of no defined content.
	Allocate(file string, length size.Size) error
	// SwapOn lets the kernel swap to a device or file that mkswap has made; the highest priority is used first.
	SwapOn(path string, priority int) error

	// Run runs a program to its end, see Host.
	Run(ctx context.Context, c Command) ([]byte, error)
	// Held tells whether somebody has a block device, or a partition of it, for themselves: a mount, an array, a volume, swap. It is opened for reading only.
	Held(dev string) (bool, error)
	// IdentifyNVMe gives the 4096 bytes with which an NVMe controller says who it is (NVM Express 1.4, 5.15.2.2).
	IdentifyNVMe(dev string) ([]byte, error)

	// Spawn starts a program that outlives the agent: own session, own user, no pipe to the agent, in /.
	Spawn(d Daemon) (Running, error)
	// Find gives the processes that run this program with these arguments, whoever started them, the oldest first.
	Find(path string, args ...string) []Running
	// Wait waits until the process has ended and says how, "" when it was not the agent's own child. A process that has another start time is another.
	Wait(ctx context.Context, p Running) (how string, err error)
	Terminate(p Running) error
	// ReopenLog sends SIGUSR1, at which mongod closes its log and opens it again by its name.
	ReopenLog(p Running) error
	Kill(p Running) error
	Resident(pid int) size.Size // of its memory in RAM, 0 when it is gone
}

// Mount is one file system to mount: `/dev/vda5 on /state type ext4 (rw,nosuid,nodev,noatime)`.
type Mount struct {
	Source, Target, Type string
	ReadOnly             bool
	Data                 string   // the file system's own options
	Options              []string // noexec, ..., and the file system's own; nil: noatime, nodev, nosuid
}

// Daemon is a program that stays. It inherits the limits that PID 1 has set, but for its own.
type Daemon struct {
	Path     string
	Args     []string // without the program's own name
	Env      []string // all of it
	Output   string   // file that standard output and standard error are added to
	UID, GID int
	OOMScore int // -1000 (never killed for memory) to 1000
	Limits   []Limit
}

// Running is a process, told from a later one of the same number by its start.
type Running struct {
	PID   int
	Start uint64 // ticks of 10 ms since the kernel's start
}
