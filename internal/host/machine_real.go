package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"grove/internal/size"
)

var _ Machine = Real{}

// Told see Machine. SIGTERM means leave, SIGUSR1 stop.
func (Real) Told() (leave, stop <-chan struct{}) {
	return once(unix.SIGTERM), once(unix.SIGUSR1)
}

func once(s os.Signal) <-chan struct{} {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, s)
	go func() {
		<-signals
		close(done)
	}()
	return done
}

// Uptime see Machine.
func (Real) Uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// Memory see Machine: MemTotal, which leaves out what the kernel and the firmware keep.
func (Real) Memory() (size.Size, error) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	kib, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(string(data), "MemTotal:")), " ")
	n, err := strconv.ParseInt(kib, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read MemTotal in /proc/meminfo: %w", err)
	}
	return size.Size(n) * size.KiB, nil
}

// SetHostname see Machine.
func (Real) SetHostname(name string) error { return unix.Sethostname([]byte(name)) }

// MakeDir see Machine. A folder that is right already is not written to.
func (Real) MakeDir(path string, mode os.FileMode, uid, gid int) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	var now unix.Stat_t
	if err := unix.Stat(path, &now); err == nil && now.Mode&0o7777 == uint32(mode) && int(now.Uid) == uid && int(now.Gid) == gid {
		return nil
	}
	if err := os.Chown(path, uid, gid); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// WriteFor see Machine. The other user never owns a file that is still to be written.
func (Real) WriteFor(path string, data []byte, uid, gid int) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".for-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o400), f.Chown(uid, gid), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Mount see Machine.
func (Real) Mount(m Mount) error {
	flags, data := m.flags()
	if err := os.MkdirAll(m.Target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(m.Source, m.Target, m.Type, flags, data); err != nil {
		return fmt.Errorf("mount %s on %s as %s: %w", m.Source, m.Target, m.Type, err)
	}
	return nil
}

// Unmount see Machine.
func (Real) Unmount(target string) error {
	err := unix.Unmount(target, 0)
	for range 40 { // a process that is being killed holds its files for a moment
		if !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(25 * time.Millisecond)
		err = unix.Unmount(target, 0)
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", target, err)
	}
	return nil
}

// Mounted see Machine.
func (Real) Mounted(target string) (source string, mounted bool) {
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return "", false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) > 1 && words[1] == target {
			source, mounted = words[0], true // the last one is on top
		}
	}
	return source, mounted
}

// Space see Machine.
func (Real) Space(path string) (total, free size.Size, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, 0, fmt.Errorf("room of %s: %w", path, err)
	}
	return size.Size(int64(s.Blocks) * int64(s.Bsize)), size.Size(int64(s.Bavail) * int64(s.Bsize)), nil
}

// ResizePartition see Machine.
func (Real) ResizePartition(disk string, number int, start, length size.Size) error {
	p := unix.BlkpgPartition{Start: int64(start), Length: int64(length), Pno: int32(number)}
	arg := unix.BlkpgIoctlArg{Op: unix.BLKPG_RESIZE_PARTITION, Datalen: int32(unsafe.Sizeof(p)), Data: (*byte)(unsafe.Pointer(&p))}
	if err := ioctl(disk, os.O_RDWR, unix.BLKPG, unsafe.Pointer(&arg)); err != nil {
		return fmt.Errorf("tell the kernel the new end of partition %d of %s: %w", number, disk, err)
	}
	return nil
}

// resizeExt4 is EXT4_IOC_RESIZE_FS of fs/ext4/ext4.h: _IOW('f', 16, __u64). It is what resize2fs calls for a mounted file system, too.
const resizeExt4 = 0x40086610

// ResizeExt4 see Machine.
func (Real) ResizeExt4(mounted string, blocks int64) error {
	if err := ioctl(mounted, os.O_RDONLY, resizeExt4, unsafe.Pointer(&blocks)); err != nil {
		return fmt.Errorf("grow ext4 on %s to %d blocks: %w", mounted, blocks, err)
	}
	return nil
}

func ioctl(path string, flag int, request uintptr, arg unsafe.Pointer) error {
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// Find see Machine.
func (Real) Find(path string, args ...string) []Running {
	var found []Running
	procs, _ := filepath.Glob("/proc/[1-9]*")
	want := []byte(strings.Join(append([]string{path}, args...), "\x00") + "\x00")
	for _, dir := range procs {
		// The link tells what runs, the command line what for: a person may ask the same program for its version.
		if exe, err := os.Readlink(dir + "/exe"); err != nil || exe != path {
			continue
		}
		if line, err := os.ReadFile(dir + "/cmdline"); err != nil || !bytes.Equal(line, want) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if start, err := started(pid); err == nil {
			found = append(found, Running{pid, start})
		}
	}
	return found
}

// started is the 22nd field of /proc/PID/stat; the second, the program's name in parentheses, may hold anything. A process that has ended and waits to
// be reaped has not started.
func started(pid int) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	words := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(words) < 20 || words[0] == "Z" {
		return 0, errors.New("ended")
	}
	return strconv.ParseUint(words[19], 10, 64)
}

// Resident see Machine.
func (Real) Resident(pid int) size.Size {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	words := strings.Fields(string(data))
	if len(words) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(words[1], 10, 64)
	return size.Size(pages * int64(os.Getpagesize()))
}
