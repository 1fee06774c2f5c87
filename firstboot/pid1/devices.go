package pid1

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"grove/firstboot/kmod"
	"grove/internal/spec"
)

// devices loads the modules that this machine wants: those of the list first, then what each device asks for by its modalias, also the devices that those
// modules bring (a disk behind a virtio bus behind PCI). The kernel tells of every new device, so nothing is polled.
type devices struct {
	uevents int
	changed chan struct{} // something is received after a disk came or the list is done
	inputs  chan string   // event0, ...
	list    spec.Modules  // of the initramfs

	mu    sync.Mutex
	index kmod.Index
	have  map[string]bool // modules
}

func watchDevices() *devices {
	d := &devices{changed: make(chan struct{}, 1), inputs: make(chan string, 64), have: map[string]bool{}}
	var err error
	if d.uevents, err = openUevents(); err != nil {
		say("init", "listen to the kernel for devices: %v", err)
	}
	if d.list, err = readModules("/modules/index.json"); err != nil {
		say("init", "read the list of modules: %v", err)
	}
	d.index = kmod.New(d.list)
	return d
}

func readModules(file string) (list spec.Modules, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return list, err
	}
	return list, json.Unmarshal(data, &list)
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
	d.loadAll(d.list.Load)
	d.wake()
	say("init", "%d modules loaded", len(d.have))
	message := make([]byte, 16<<10)
	for d.uevents >= 0 {
		n, _, err := unix.Recvfrom(d.uevents, message, 0)
		switch {
		case err == unix.EINTR:
		case err == unix.ENOBUFS: // some were lost: look at everything
			d.loadAll(nil)
			d.wake()
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
		d.loadFor(modalias)
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

// system adds the modules that lie in the system partition.
func (d *devices) system() {
	list, err := readModules("/usr/lib/modules/index.json")
	if err != nil || len(list.Modules) == 0 {
		return // an image may have all that it needs in the initramfs
	}
	d.mu.Lock()
	d.index = kmod.New(d.list, list)
	d.mu.Unlock()
	d.loadAll(list.Load)
}

// loadAll loads a list, then goes through the devices that are there.
func (d *devices) loadAll(list []string) {
	for _, name := range list {
		d.load(name)
	}
	files, _ := filepath.Glob("/sys/bus/*/devices/*/modalias")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			d.loadFor(strings.TrimSpace(string(data)))
		}
	}
	events, _ := filepath.Glob("/dev/input/event*")
	for _, event := range events {
		d.input(filepath.Base(event))
	}
}

func (d *devices) loadFor(modalias string) {
	d.mu.Lock()
	names := d.index.For(modalias)
	d.mu.Unlock()
	for _, name := range names {
		d.load(name)
	}
}

func (d *devices) load(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.index.Order(name, d.have) {
		d.have[one] = true // not tried twice: a module that refuses once has no device here
		if err := insert(d.index.File(one)); err != nil {
			say("init", "load module %s: %v", one, err)
		}
	}
}

func insert(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	err = unix.FinitModule(int(f.Fd()), "", 0)
	if errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENODEV) {
		return nil // built in or loaded; or a driver that says its hardware is not here
	}
	return err
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
