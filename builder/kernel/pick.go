package kernel

import (
	"errors"
	"fmt"
	"strings"

	"grove/internal/diag"
	"grove/internal/spec"
)

// unnamed is what a module cannot work without and its .modinfo keeps silent about.
var unnamed = map[string][]string{
	// Code page and character set of a mount without options: CONFIG_FAT_DEFAULT_CODEPAGE=437 and _IOCHARSET="ascii" in Debian's kernels.
	"vfat": {"nls_cp437", "nls_ascii"},
	// These drivers find SCSI devices; that one of them is a disk is sd_mod's part.
	"ahci":        {"sd_mod"},
	"ahci_sunxi":  {"sd_mod"},
	"ata_piix":    {"sd_mod"},
	"uas":         {"sd_mod"},
	"usb_storage": {"sd_mod"},
	"virtio_scsi": {"sd_mod"},
	"vmw_pvscsi":  {"sd_mod"},
}

// picked is the choice: what goes where, and both indexes.
type picked struct{ boot, system spec.Modules }

// pick decides. A module of the initramfs is not put into the system a second time, though others there may need it. All names that the kernel does not have
// are told at once.
func pick(t *tree, boot, system []string) (picked, error) {
	c := closure{tree: t, done: map[string]bool{}}
	first := c.set("kernel.boot", boot)
	second := c.set("kernel.system", system)
	second.Load = []string{}
	return picked{first, second}, errors.Join(c.faults...)
}

// closure goes through modules and what they need, each once.
type closure struct {
	tree   *tree
	done   map[string]bool
	faults []error
}

// set gives the index of a list of names. Load holds those that no device asks for.
func (c *closure) set(key string, names []string) spec.Modules {
	index := spec.Modules{Kernel: c.tree.release, Load: []string{}, Modules: map[string]spec.Module{}}
	for i, n := range names {
		n = name(n)
		if c.tree.files[n] == "" && c.tree.builtin[n] {
			continue
		}
		if c.tree.files[n] == "" {
			c.faults = append(c.faults, fmt.Errorf("%s[%d]: kernel %s has no module %q%s", key, i, c.tree.release, n, diag.Meant(n, c.tree.names())))
			continue
		}
		c.add(index.Modules, n)
		if m, err := c.tree.module(n); err == nil && !m.device() {
			index.Load = append(index.Load, n)
		}
	}
	return index
}

func (c *closure) add(to map[string]spec.Module, n string) {
	if c.done[n] {
		return
	}
	c.done[n] = true
	m, err := c.tree.module(n)
	if err != nil {
		c.faults = append(c.faults, err)
		return
	}
	needs, err := c.needs(n, m)
	if err != nil {
		c.faults = append(c.faults, err)
		return
	}
	for _, need := range needs {
		c.add(to, need)
	}
	to[n] = spec.Module{Needs: needs, Alias: append([]string{}, m.alias...)}
}

// needs is what to load right before a module, in this order.
func (c *closure) needs(n string, m module) ([]string, error) {
	needs := []string{}
	for _, soft := range m.soft {
		if found := c.provider(soft); found != "" {
			needs = append(needs, found)
		}
	}
	for _, hard := range append(append([]string{}, unnamed[n]...), m.depends...) {
		if c.tree.files[hard] == "" && c.tree.builtin[hard] {
			continue
		}
		if c.tree.files[hard] == "" {
			return nil, fmt.Errorf("the module %s needs %s, which kernel %s does not have", n, hard, c.tree.release)
		}
		needs = append(needs, hard)
	}
	return needs, nil
}

// provider finds the module behind a softdep, which may name an alias: crypto_crc32c and crc32c stand for crc32c_generic, the one that runs on every
// processor. A softdep that nothing provides is no fault, says modprobe.d(5).
func (c *closure) provider(soft string) string {
	bare := strings.TrimPrefix(soft, "crypto_")
	for _, n := range []string{soft, bare, bare + "_generic"} {
		if c.tree.files[n] != "" {
			return n
		}
		if c.tree.builtin[n] {
			return ""
		}
	}
	return ""
}
