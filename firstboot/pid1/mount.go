package pid1

import (
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"grove/firstboot/status"
)

const careful = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC

var kernelMounts = []struct {
	kind, target string
	flags        uintptr
	data         string
}{
	{"proc", "/proc", careful, ""},
	{"sysfs", "/sys", careful, ""},
	{"devtmpfs", "/dev", unix.MS_NOSUID, "mode=0755"},
	{"devpts", "/dev/pts", unix.MS_NOSUID | unix.MS_NOEXEC, "mode=0620,gid=5"},
	{"tmpfs", "/run", unix.MS_NOSUID | unix.MS_NODEV, "mode=0755"},
	{"tmpfs", "/tmp", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
	{"cgroup2", "/sys/fs/cgroup", careful, ""},
}

// mounts makes what the kernel shows of itself visible. What fails is said later by whoever misses it: there is no console yet.
func mounts() {
	for _, m := range kernelMounts {
		_ = os.MkdirAll(m.target, 0o755)
		_ = unix.Mount(m.kind, m.target, m.kind, m.flags, m.data)
	}
	_ = os.MkdirAll(status.Dir, 0o755)
	// Ctrl-Alt-Del comes as SIGINT and not as the machine's sudden end.
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_CAD_OFF)
}

// openConsole makes /dev/console the three standard files: what the kernel opened was the one of the initramfs, if that had one.
func openConsole() {
	fd, err := unix.Open("/dev/console", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for standard := range 3 {
		_ = unix.Dup3(fd, standard, 0)
	}
	unix.Close(fd)
}

// unmounts lets go of what can be written to, the last that was mounted first. A file system that is still in use becomes read-only, which is as good to it. Swap is
// let go of before: a file of it holds its file system. Arrays end with the kernel, which marks them clean as it goes down (drivers/md/md.c, md_notify_reboot).
func unmounts() {
	unix.Sync()
	for _, device := range columns("/proc/swaps", 0) {
		if name, err := unix.BytePtrFromString(device); err == nil && strings.HasPrefix(device, "/") {
			_, _, _ = unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(name)), 0, 0) // fails where memory is short; then its file system becomes read-only
		}
	}
	sources, targets := columns("/proc/self/mounts", 0), columns("/proc/self/mounts", 1)
	for n := len(targets) - 1; n >= 0; n-- {
		if strings.HasPrefix(sources[n], "/dev/") && targets[n] != "/usr" {
			unmount(targets[n])
		}
	}
	unix.Sync()
}

func unmount(target string) {
	err := unix.Unmount(target, 0)
	if err == nil {
		return
	}
	say("stop", "unmount %s: %v; it becomes read-only", target, err)
	if err := unix.Mount("", target, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		say("stop", "make %s read-only: %v", target, err)
	}
}

// columns gives one column of a table of /proc.
func columns(file string, column int) (all []string) {
	data, _ := os.ReadFile(file)
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) > column {
			all = append(all, words[column])
		}
	}
	return all
}

// consoleTTY is the device that /dev/console stands for: the last that the command line names.
func consoleTTY() string {
	names := lines("/sys/class/tty/console/active")
	if len(names) == 0 {
		return "/dev/console"
	}
	return filepath.Join("/dev", names[len(names)-1])
}
