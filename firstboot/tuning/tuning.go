// Package tuning knows what a node sets of its kernel, of the disks under mongod's data and of mongod's own process, and sets it.
//
// Want decides, by a profile, the server, the kernel and the devices: `mongodb` is the advice of MongoDB's manual (production notes, UNIX ulimit settings, transparent huge pages,
// TCMalloc) for the server's version, `classic-2015` exactly the numbers of two articles of 2013 and 2015, so that their measurements can be repeated. Apply reads, writes
// only what differs, and reads again. What a kernel does not have is said to be absent and is no failure; what does not take is a problem.
//
// Nothing here outlasts a boot: all of it is in the kernel's memory.
package tuning

import (
	"slices"
	"strconv"
	"strings"

	"grove/internal/spec"
)

// About is all that the values depend on.
type About struct {
	Profile string
	Version string // of the server: 8.0.11
	Arch    spec.Arch
	Kernel  string            // release: 6.12.48-cloud-amd64
	Devices []Device          // those under mongod's data; none before it is mounted
	Sysctl  map[string]string // a person's own, over the profile's
}

// Device is a block device with a queue.
type Device struct {
	Name       string   // vdb, md127, dm-0
	Layer      string   // disk, md, dm
	Rotational bool     // as the kernel knows it
	Virtual    bool     // a hypervisor's, of whose rotation the kernel knows nothing
	Schedulers []string // on offer; none for md and dm, which hand everything down
}

// Value is one setting.
type Value struct {
	Name   string
	Path   string // below the root; of a limit and the environment that of mongod's process
	Want   string
	Source string
	rule   rule
	own    bool // a person asks for it: that the kernel lacks it is a problem
}

// rule is how a value is compared, and set.
type rule int

// The rules. Those of mongod's process are set when it is started; what is gone is never set.
const (
	exact rule = iota
	least
	limited
	environment
	gone
)

// Want lists the settings, those of the system first, then each device's.
func Want(a About) []Value {
	var values []Value
	switch a.Profile {
	case "mongodb":
		values = slices.Concat(system(a), process(a), disks(a))
	case "classic-2015":
		values = classic(a)
	}
	names := make([]string, 0, len(a.Sysctl))
	for name := range a.Sysctl {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		own := sysctl(name, a.Sysctl[name], "tuning.sysctl of the recipe or node.yaml")
		own.own = true
		if at := slices.IndexFunc(values, func(v Value) bool { return v.Path == own.Path }); at >= 0 {
			values[at] = own
			continue
		}
		values = append(values, own)
	}
	return values
}

// Differs tells where another profile leaves what `mongodb` has for the same machine.
func Differs(a About) (all []string) {
	if a.Profile == "mongodb" {
		return nil
	}
	advice := a
	advice.Profile, advice.Sysctl, advice.Devices, a.Devices = "mongodb", nil, nil, nil
	have := Want(a)
	for _, v := range Want(advice) {
		at := slices.IndexFunc(have, func(h Value) bool { return h.Path == v.Path && h.Name == v.Name })
		switch {
		case at < 0:
			all = append(all, v.Name+" is left as it is; profile mongodb wants "+v.Want)
		case have[at].Want != v.Want:
			all = append(all, v.Name+" is "+have[at].Want+"; profile mongodb wants "+v.Want)
		}
	}
	return all
}

// sysctl is a setting of /proc/sys. In its name dots part the levels and a slash stands for a dot, or the other way round, whichever comes first (sysctl(8)).
func sysctl(name, want, source string) Value {
	path := name
	if at := strings.IndexAny(name, "./"); at >= 0 && name[at] == '.' {
		path = strings.NewReplacer(".", "/", "/", ".").Replace(name)
	}
	return Value{Name: name, Path: "/proc/sys/" + path, Want: want, Source: source}
}

func atLeast(v Value) Value {
	v.rule = least
	return v
}

// limit is one of mongod's process; unlimited is written so.
func limit(resource, want, source string) Value {
	return Value{Name: "limit " + resource, Path: "/proc/PID/limits", Want: want, Source: source, rule: limited}
}

// since tells whether a version, of the server or the kernel, is this one or later.
func since(version string, major, minor int) bool {
	words := strings.FieldsFunc(version, func(r rune) bool { return r == '.' || r == '-' })
	var n [2]int
	for i := range min(2, len(words)) {
		n[i], _ = strconv.Atoi(words[i])
	}
	return n[0] > major || n[0] == major && n[1] >= minor
}
