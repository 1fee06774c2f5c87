package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"grove/firstboot/kmod"
	"grove/internal/host"
	"grove/internal/spec"
)

// Modules loads kernel modules of the image, each with what it needs: no device asks for those of arrays, volumes and file systems, so PID 1 does not either.
type Modules struct {
	Host host.Machine
	Root string

	mu    sync.Mutex
	index *kmod.Index
}

// Load returns when all are there. A name that the image has no module of is built into the kernel.
func (m *Modules) Load(names ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.index == nil {
		index, err := m.read()
		if err != nil {
			return err
		}
		m.index = &index
	}
	for _, name := range names {
		for _, one := range m.index.Order(name) {
			if err := m.Host.LoadModule(m.Root + m.index.File(one)); err != nil {
				return err
			}
		}
	}
	return nil
}

// read takes both lists of the image, that of the initramfs and that of the system. Either may be empty.
func (m *Modules) read() (kmod.Index, error) {
	var lists []spec.Modules
	for _, file := range []string{"/modules/index.json", "/usr/lib/modules/index.json"} {
		var list spec.Modules
		data, err := os.ReadFile(m.Root + file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(data, &list)
		}
		if err != nil {
			return kmod.Index{}, fmt.Errorf("read the list of kernel modules, %s: %w", file, err)
		}
		lists = append(lists, list)
	}
	return kmod.New(lists...), nil
}

// Wanted are the modules that a storage will need, so that they can be loaded while the disks are looked at.
func Wanted(s *spec.Storage) (names []string) {
	if s == nil {
		return nil
	}
	if s.Raid.Level != "none" {
		names = append(names, "raid"+string(s.Raid.Level))
	}
	if s.Volumes.Data > 0 {
		names = append(names, "dm_mod")
	}
	return append(names, s.Filesystem)
}
