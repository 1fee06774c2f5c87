package kernel

import (
	"bytes"
	"debug/elf"
	"errors"
	"strings"
)

// module is a .ko file: its bytes and what it says of itself.
type module struct {
	data    []byte
	depends []string // module names
	soft    []string // to be loaded before it if they are there: names of modules, or aliases such as crc32c
	alias   []string
}

// parse reads the section .modinfo, NUL-ended strings KEY=VALUE (linux/include/linux/module.h):
//
//	depends=net_failover,mbcache      softdep=pre: crc32c post: x      alias=virtio:d00000001v*
func parse(data []byte) (module, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return module{}, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return module{}, errors.New("the file has no such section")
	}
	info, err := section.Data()
	if err != nil {
		return module{}, err
	}
	m := module{data: data}
	for _, entry := range bytes.Split(info, []byte{0}) {
		key, value, _ := strings.Cut(string(entry), "=")
		switch key {
		case "depends":
			m.depends = append(m.depends, strings.FieldsFunc(strings.ReplaceAll(value, "-", "_"), func(r rune) bool { return r == ',' })...)
		case "softdep":
			m.soft = append(m.soft, before(value)...)
		case "alias":
			m.alias = append(m.alias, value)
		}
	}
	return m, nil
}

// before takes the names behind `pre:` out of a softdep; those behind `post:` are extras that nothing waits for.
func before(softdep string) []string {
	var names []string
	pre := false
	for _, word := range strings.Fields(softdep) {
		switch {
		case strings.HasSuffix(word, ":"):
			pre = word == "pre:"
		case pre:
			names = append(names, strings.ReplaceAll(word, "-", "_"))
		}
	}
	return names
}

// device tells whether the kernel announces some device by one of the module's aliases: BUS:..., as made by linux/scripts/mod/file2alias.c. The other
// aliases, such as fs-vfat, are names by which the kernel would call /sbin/modprobe, which a node has not.
func (m module) device() bool {
	for _, a := range m.alias {
		bus, _, found := strings.Cut(a, ":")
		if found && bus != "devname" && bus != "symbol" {
			return true
		}
	}
	return false
}
