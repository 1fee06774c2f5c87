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

// modules loads kernel modules, from any goroutine: relocating one takes the kernel a while, so two processors are worth having.
type modules struct {
	boot spec.Modules // of the initramfs

	mu     sync.Mutex
	index  kmod.Index
	loaded map[string]chan struct{} // closed once it is done with
}

func readModules(file string) (list spec.Modules, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return list, err
	}
	return list, json.Unmarshal(data, &list)
}

func newModules() *modules {
	boot, err := readModules("/modules/index.json")
	if err != nil {
		say("init", "read the list of modules: %v", err)
	}
	return &modules{boot: boot, index: kmod.New(boot), loaded: map[string]chan struct{}{}}
}

// system adds the modules that lie in the system partition.
func (m *modules) system() {
	list, err := readModules("/usr/lib/modules/index.json")
	if err != nil || len(list.Modules) == 0 {
		return // an image may have all that it needs in the initramfs
	}
	m.mu.Lock()
	m.index = kmod.New(m.boot, list)
	m.mu.Unlock()
	m.all(list.Load)
}

// all loads a list and, beside it, what the devices ask for that are there.
func (m *modules) all(list []string) {
	var both sync.WaitGroup
	both.Go(m.coldplug)
	for _, name := range list {
		m.load(name)
	}
	both.Wait()
}

// coldplug goes through the devices that are there. An input device is on no bus, and that of a driver which is built in came before anybody listened.
func (m *modules) coldplug() {
	files, _ := filepath.Glob("/sys/bus/*/devices/*/modalias")
	inputs, _ := filepath.Glob("/sys/class/input/*/modalias")
	for _, file := range append(files, inputs...) {
		if data, err := os.ReadFile(file); err == nil {
			m.loadFor(strings.TrimSpace(string(data)))
		}
	}
}

func (m *modules) loadFor(modalias string) {
	m.mu.Lock()
	names := m.index.For(modalias)
	m.mu.Unlock()
	for _, name := range names {
		m.load(name)
	}
}

// load returns when the module and all that it needs are there or were tried: once each, as one that refuses has no device here.
func (m *modules) load(name string) {
	m.mu.Lock()
	index := m.index
	m.mu.Unlock()
	for _, one := range index.Order(name) {
		m.mu.Lock()
		done, claimed := m.loaded[one]
		if !claimed {
			done = make(chan struct{})
			m.loaded[one] = done
		}
		m.mu.Unlock()
		if claimed {
			<-done
			continue
		}
		if err := insert(index.File(one)); err != nil {
			say("init", "load module %s: %v", one, err)
		}
		close(done)
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

func (m *modules) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.loaded)
}
