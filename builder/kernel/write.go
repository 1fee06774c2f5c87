package kernel

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"grove/internal/spec"
)

// The places of the modules in the running system.
const (
	bootPlace   = "/modules"
	systemPlace = "/usr/lib/modules"
)

// write makes the part: vmlinuz, release, boot/ and system/.
func write(t *tree, p picked, to string) error {
	boot, system := filepath.Join(to, "boot"), filepath.Join(to, "system", "lib", "modules")
	for _, dir := range []string{boot, system} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := writeSet(t, p.boot, boot, bootPlace); err != nil {
		return err
	}
	if err := writeSet(t, p.system, system, systemPlace); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "release"), []byte(t.release), 0o644); err != nil {
		return err
	}
	return os.Rename(t.vmlinuz, filepath.Join(to, "vmlinuz"))
}

func writeSet(t *tree, index spec.Modules, dir, place string) error {
	for _, n := range slices.Sorted(maps.Keys(index.Modules)) {
		m, err := t.module(n)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, n+".ko"), m.data, 0o644); err != nil {
			return err
		}
		entry := index.Modules[n]
		entry.File = place + "/" + n + ".ko"
		index.Modules[n] = entry
	}
	text, err := json.MarshalIndent(index, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "index.json"), append(text, '\n'), 0o644)
}
