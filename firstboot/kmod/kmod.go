// Package kmod decides which kernel modules to load, and in which order. It loads none.
//
// It stands for udev and modprobe: those need files that Debian's packages do not carry (modules.dep is made by depmod when a package is installed), and
// programs that we do not have.
package kmod

import (
	"path"
	"strings"

	"grove/internal/spec"
)

// Index answers from the module lists of an image.
type Index struct {
	modules map[string]spec.Module
	aliases map[string][]alias // by the bus, which is the text before the first colon; "" holds those with a wildcard in it, such as acpi*:LNXPWRBN:*
}

type alias struct{ pattern, module string }

// New takes the lists of the initramfs and of the system, the first to name a module wins.
func New(lists ...spec.Modules) Index {
	x := Index{map[string]spec.Module{}, map[string][]alias{}}
	for _, list := range lists {
		for name, m := range list.Modules {
			if _, known := x.modules[name]; known {
				continue
			}
			x.modules[name] = m
			for _, pattern := range m.Alias {
				bus := bus(pattern)
				x.aliases[bus] = append(x.aliases[bus], alias{pattern, name})
			}
		}
	}
	return x
}

func bus(modalias string) string {
	before, _, _ := strings.Cut(modalias, ":")
	if strings.ContainsAny(before, "*?[") {
		return ""
	}
	return before
}

// For gives the modules that ask for a device by its modalias, in no order.
func (x Index) For(modalias string) (names []string) {
	for _, list := range [][]alias{x.aliases[bus(modalias)], x.aliases[""]} {
		for _, a := range list {
			if fits(a.pattern, modalias) {
				names = append(names, a.module)
			}
		}
	}
	return names
}

// fits is the kernel's matching: *, ? and [a-f]. path.Match keeps * from passing a slash, which is an ordinary letter here.
func fits(pattern, modalias string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x01"), strings.ReplaceAll(modalias, "/", "\x01"))
	return ok && err == nil
}

// Order gives a module and all that it needs, in the order of loading. Names that the image has no module of are built in, and left out.
func (x Index) Order(name string) (names []string) {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		m, known := x.modules[name]
		if !known || seen[name] {
			return
		}
		seen[name] = true
		for _, need := range m.Needs {
			visit(need)
		}
		names = append(names, name)
	}
	visit(name)
	return names
}

// File is the place of a module, "" when the image has none of that name.
func (x Index) File(name string) string { return x.modules[name].File }
