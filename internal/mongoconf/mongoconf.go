// Package mongoconf decides what stands in mongod's configuration file: what Grove writes from the machine, and the recipe's settings merged over it.
//
// The recipe wins, but for the keys that the agent itself depends on: where the data and the log are, that mongod stays in the foreground, and that it
// answers on the loopback address, where it is asked whether it is ready. The builder refuses those when it checks a recipe, with the same Check.
package mongoconf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"grove/internal/size"
	"grove/internal/spec"
)

// Port is MongoDB's own.
const Port = 27017

// Places are where mongod's files lie on a node.
type Places struct {
	Data    string // dbPath
	Log     string
	Mounted []string // what must be mounted for them, none of it the node's own medium
}

// Where decides: data disks if the image has any, else the state partition. The log has a volume of its own, or lies on the state partition; beside the data
// only on a node that has lost its medium. state says whether that partition is mounted.
func Where(s *spec.Storage, state bool) Places {
	p := Places{Data: "/state/mongod/db", Log: "/state/mongod/log/mongod.log"}
	if s == nil {
		return p
	}
	p.Data, p.Mounted = "/data", []string{"/data"}
	if s.Volumes.Log > 0 {
		p.Log, p.Mounted = "/log/mongod.log", append(p.Mounted, "/log")
	} else if !state {
		p.Log = "/data/mongod.log"
	}
	if s.Volumes.Journal > 0 {
		p.Mounted = append(p.Mounted, "/journal")
	}
	return p
}

// Config is a configuration file and what the agent needs to know of it.
type Config struct {
	Text []byte // YAML
	Port int
}

// Server is the program that the file is for.
type Server struct {
	Version string // 6.0.5
	Arch    spec.Arch
}

// Machine is what the file depends on beside the server.
type Machine struct {
	Memory  size.Size
	Journal size.Size // of the file system that the journal lies on, all of it
	Places  Places
	Access  Access
}

// Access is whom mongod lets in, and as whose member.
type Access struct {
	Set       string // the replica set's name, empty without one
	KeyFile   string // by which its members know each other; empty without one, and where access control is off
	FirstUser bool   // one may be made by whoever asks from the node itself, as long as there is none (the localhost exception)
}

// Open says whether a recipe switches access control off.
func Open(recipe map[string]any) bool {
	v, _ := value(recipe, "security.authorization")
	return v == "disabled"
}

// Make gives the file for a server on a machine. The error is a Refusals when the recipe asks for what it must not.
func Make(s Server, recipe map[string]any, m Machine) (Config, error) {
	if refused := Check(s, recipe); len(refused) > 0 {
		return Config{}, refused
	}
	under := ours(s, s.engine(recipe), m)
	if !Open(recipe) {
		under = merge(under, access(m.Access))
	}
	if m.Access.Set != "" {
		under = merge(under, map[string]any{"replication": replication(s, m.Access.Set)})
	}
	all := merge(under, recipe)
	text, err := yaml.Marshal(all)
	if err != nil {
		return Config{}, fmt.Errorf("write mongod's configuration: %w", err)
	}
	port, _ := value(all, "net.port")
	n, _ := port.(int64)
	return Config{Text: text, Port: int(n)}, nil
}

// ours is what Grove writes. mongod listens on every address of the node, since those of DHCP are not known when it starts and may change under it; that
// is safe by default as a client must log in, and before the first user exists only one from the node itself can (the localhost exception).
func ours(s Server, engine string, m Machine) map[string]any {
	return map[string]any{
		"storage":           storage(s, engine, m),
		"systemLog":         map[string]any{"destination": "file", "path": m.Places.Log, "logAppend": true, "logRotate": "reopen"},
		"net":               map[string]any{"bindIp": "0.0.0.0", "port": int64(Port), "unixDomainSocket": map[string]any{"enabled": false}},
		"processManagement": map[string]any{"fork": false},
	}
}

func access(a Access) map[string]any {
	security := map[string]any{"authorization": "enabled"}
	if a.KeyFile != "" {
		security["keyFile"] = a.KeyFile
	}
	all := map[string]any{"security": security}
	if !a.FirstUser {
		all["setParameter"] = map[string]any{"enableLocalhostAuthBypass": false}
	}
	return all
}

// replication of 32 bits has an oplog of a fixed size: by itself it would take a good part of the 2 GB that MMAPv1 can address there.
func replication(s Server, name string) map[string]any {
	all := map[string]any{"replSetName": name}
	if s.Arch == spec.ARMHF {
		all["oplogSizeMB"] = int64(128)
	}
	return all
}

// Small is the file system whose journal is kept short. WiredTiger makes three files of 100 MB beforehand; where they do not fit it ends now with "no space left", now with an
// abort (seen with 6.0.5 on 60 to 260 MB). With 8 MB each it starts on 30 MB.
const Small = 2 * size.GiB

func storage(s Server, engine string, m Machine) map[string]any {
	all := map[string]any{"dbPath": m.Places.Data}
	if older(s.Version, "4.2") {
		all["engine"] = engine // later servers have one only
	}
	switch engine {
	case "wiredTiger":
		config := map[string]any{"cacheSizeGB": cache(s.Version, m.Memory)}
		if m.Journal < Small {
			config["configString"] = "log=(file_max=8MB)"
		}
		all["wiredTiger"] = map[string]any{"engineConfig": config}
	case "mmapv1":
		// Its journal is three files of 1 GiB, or 128 MiB with smallFiles; and it is off by default on 32 bits, where the loss of power then loses data.
		if s.Arch == spec.ARMHF || m.Journal < 8*Small {
			all["mmapv1"] = map[string]any{"smallFiles": true}
		}
		all["journal"] = map[string]any{"enabled": true}
	}
	return all
}

// cache is WiredTiger's share of the memory in GB, which mongod reads as GiB, as the manual of each version has it: half of it in 3.0, 60 % less 1 GiB in 3.2, both whole numbers of at
// least 1; since 3.4 half of all but the first GiB, and at least a quarter. It is written out although it is the default, so that it can be read in the file.
func cache(version string, memory size.Size) any {
	all := float64(memory) / float64(size.GiB)
	switch {
	case older(version, "3.2"):
		return int64(max(1, all/2))
	case older(version, "3.4"):
		return int64(max(1, all*0.6-1))
	}
	return max(0.25, math.Floor((all-1)/2*100)/100)
}

// engine is the recipe's, or the one that the server takes by itself.
func (s Server) engine(recipe map[string]any) string {
	if name, found := value(recipe, "storage.engine"); found {
		return fmt.Sprint(name)
	}
	if s.Arch == spec.ARMHF || older(s.Version, "3.2") {
		return "mmapv1"
	}
	return "wiredTiger"
}

// older compares the first two numbers of versions.
func older(version, than string) bool {
	number := func(v string) (n [2]int) {
		for i, word := range strings.SplitN(v, ".", 3) {
			if i < 2 {
				n[i], _ = strconv.Atoi(word)
			}
		}
		return n
	}
	a, b := number(version), number(than)
	return a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
}

// merge lays one tree over the other, key by key; neither is changed. Whole numbers that JSON made floating come out whole, since mongod refuses 1e+06.
func merge(under, over map[string]any) map[string]any {
	all := map[string]any{}
	for k, v := range under {
		all[k] = plain(v)
	}
	for k, v := range over {
		a, _ := all[k].(map[string]any)
		if b, both := v.(map[string]any); both && a != nil {
			all[k] = merge(a, b)
			continue
		}
		all[k] = plain(v)
	}
	return all
}

func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return merge(nil, v)
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = plain(one)
		}
		return list
	case int:
		return int64(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	}
	return v
}

// value is what stands at a path of keys such as net.port.
func value(tree map[string]any, path string) (any, bool) {
	for {
		key, rest, deeper := strings.Cut(path, ".")
		v, found := tree[key]
		if !deeper || !found {
			return v, found
		}
		if tree, found = v.(map[string]any); !found {
			return nil, false
		}
		path = rest
	}
}
