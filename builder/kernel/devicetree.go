package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"grove/internal/diag"
)

// takeTrees moves the device trees of a list out of usr/lib/linux-image-RELEASE, where they lie flat for 32 bits and by vendor for 64, into a folder. All that the package
// does not have are told at once.
func takeTrees(unpacked, release string, names []string, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	from := filepath.Join(unpacked, "usr/lib", "linux-image-"+release)
	flat, _ := filepath.Glob(filepath.Join(from, "*.dtb"))
	vendors, _ := filepath.Glob(filepath.Join(from, "*", "*.dtb"))
	have := map[string]string{}
	var all []string
	for _, file := range append(flat, vendors...) {
		name := strings.TrimSuffix(filepath.Base(file), ".dtb")
		have[name], all = file, append(all, name)
	}
	var faults []error
	for i, name := range names {
		if have[name] == "" {
			faults = append(faults, fmt.Errorf("kernel.device_trees[%d]: kernel %s has no device tree %q%s", i, release, name, diag.Meant(name, all)))
			continue
		}
		if err := os.Rename(have[name], filepath.Join(to, name+".dtb")); err != nil {
			return err
		}
	}
	return errors.Join(faults...)
}
