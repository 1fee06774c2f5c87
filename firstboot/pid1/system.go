package pid1

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"grove/firstboot/disk"
)

// Waits for the medium: EBS and USB come late at times, never later than that after their drivers are there. A slow processor takes a while for those, and each one is counted anew.
const (
	mediumDeadline = 30 * time.Second
	mediumSays     = 5 * time.Second
)

// beginSearch gives what is to be closed when the search is over.
func (p *first) beginSearch() io.Closer {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	p.searched = r
	return w
}

// system mounts the medium's system partition on /usr. Without one the node goes on: a person at the console, and the agent, can still say so.
func (p *first) system() {
	wait := "looks for the medium with the partition table " + p.image.DiskID
	tell := time.NewTicker(mediumSays)
	defer tell.Stop()
	loaded, since := 0, time.Now()
	for {
		if n := p.devices.modules.count(); n != loaded {
			loaded, since = n, time.Now()
		}
		seen, done, err := p.mountSystem()
		if done {
			return
		}
		select {
		case <-p.devices.changed:
		case <-tell.C:
			if time.Since(since) >= mediumDeadline {
				say("init", "no medium within %s, so no mongod: %s; there is %s%s", mediumDeadline, wait, seen, because(err))
				return
			}
			say("init", "%s; there is %s%s", wait, seen, because(err))
		}
	}
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf(" (%v)", err)
}

func (p *first) mountSystem() (seen disk.Sight, done bool, err error) {
	m, seen, err := disk.Find("", p.image.DiskID)
	if err != nil || m.Name == "" {
		return seen, false, err
	}
	dev, _, err := m.Partition(disk.System)
	if err != nil {
		return seen, false, err
	}
	// ENODEV: squashfs is not loaded yet.
	if err := unix.Mount(dev, "/usr", "squashfs", unix.MS_RDONLY|unix.MS_NODEV|unix.MS_NOSUID, ""); err != nil && !errors.Is(err, unix.EBUSY) {
		return seen, false, fmt.Errorf("mount %s on /usr: %w", dev, err)
	}
	p.spawn(func() { warm("/usr/bin/mongod") })
	say("init", "medium %s, %s; its %s is /usr", m.Name, m.Size.Short(), disk.System)
	return seen, true, nil
}

// warm reads a program into the page cache while the rest of the start goes on: page by page, as it is needed, squashfs unpacks on the critical path.
func warm(file string) {
	f, err := os.Open(file)
	if err != nil {
		return // the agent says so
	}
	defer f.Close()
	_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, make([]byte, 256<<10))
}
