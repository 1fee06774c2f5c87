package pid1

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// devices hears of every device from the kernel: it has modules loaded for those that ask for one by their modalias, also for the devices that those
// modules bring (a disk behind a virtio bus behind PCI). Nothing is polled.
type devices struct {
	modules *modules
	uevents int
	changed chan struct{} // something is received after a disk came or the first modules are there
	inputs  chan string   // event0, ...
}

func watchDevices() *devices {
	d := &devices{changed: make(chan struct{}, 1), inputs: make(chan string, 64)}
	var err error
	if d.uevents, err = openUevents(); err != nil {
		say("init", "listen to the kernel for devices: %v", err)
	}
	d.modules = newModules()
	return d
}

// openUevents is the socket that udev listens to: net/netlink, group 1. Devices that come while modules load must not be lost, so it has room for 4 MiB.
func openUevents() (int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return -1, err
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 4<<20)
	return fd, unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1})
}

// serve loads what is wanted now, then what comes. It ends only if the kernel can't be listened to.
func (d *devices) serve() {
	d.look(d.modules.boot.Load)
	say("init", "%d modules loaded", d.modules.count())
	message := make([]byte, 16<<10)
	for d.uevents >= 0 {
		n, _, err := unix.Recvfrom(d.uevents, message, 0)
		switch {
		case err == unix.EINTR:
		case err == unix.ENOBUFS: // some were lost: look at everything
			d.look(nil)
		case err != nil:
			say("init", "listen to the kernel for devices: %v", err)
			return
		default:
			d.event(parseUevent(message[:n]))
		}
	}
}

// parseUevent splits `add@/devices/...`, NUL, `KEY=value`, NUL, ...
func parseUevent(message []byte) map[string]string {
	fields := map[string]string{}
	for _, field := range strings.Split(string(message), "\x00") {
		if key, value, found := strings.Cut(field, "="); found {
			fields[key] = value
		}
	}
	return fields
}

func (d *devices) event(e map[string]string) {
	if e["ACTION"] == "remove" {
		return
	}
	if modalias := e["MODALIAS"]; modalias != "" {
		d.modules.loadFor(modalias)
	}
	switch e["SUBSYSTEM"] {
	case "block":
		d.wake()
	case "input":
		if name := strings.TrimPrefix(e["DEVNAME"], "input/"); strings.HasPrefix(name, "event") {
			d.input(name)
		}
	}
}

func (d *devices) wake() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

func (d *devices) input(name string) {
	select {
	case d.inputs <- name:
	default: // 64 keyboards are enough
	}
}

// look goes through all that is there.
func (d *devices) look(list []string) {
	d.modules.all(list)
	events, _ := filepath.Glob("/dev/input/event*")
	for _, event := range events {
		d.input(filepath.Base(event))
	}
	d.wake()
}

// buttons watches every power button there is and will be.
func (d *devices) buttons(orders chan<- order) {
	watched := map[string]bool{}
	for name := range d.inputs {
		if !watched[name] && hasPowerKey(name) {
			watched[name] = true
			go button("/dev/input/"+name, orders)
		}
	}
}
