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

// Make gives the file for a server of this version, such as 6.0.5, on a machine with so much memory, its files in these places. The error is a Refusals when the recipe asks for what
// it must not.
func Make(version string, recipe map[string]any, memory size.Size, at Places) (Config, error) {
	if refused := Check(recipe); len(refused) > 0 {
		return Config{}, refused
	}
	all := merge(ours(version, engine(recipe), memory, at), recipe)
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
func ours(version, engine string, memory size.Size, at Places) map[string]any {
	storage := map[string]any{"dbPath": at.Data}
	if engine == "wiredTiger" {
		storage["wiredTiger"] = map[string]any{"engineConfig": map[string]any{"cacheSizeGB": cache(version, memory)}}
	}
	return map[string]any{
		"storage":           storage,
		"systemLog":         map[string]any{"destination": "file", "path": at.Log, "logAppend": true, "logRotate": "reopen"},
		"net":               map[string]any{"bindIp": "0.0.0.0", "port": int64(Port), "unixDomainSocket": map[string]any{"enabled": false}},
		"security":          map[string]any{"authorization": "enabled"},
		"processManagement": map[string]any{"fork": false},
	}
}

// cache is WiredTiger's share of the memory in GB, which mongod reads as GiB: half of all but the first GiB, as the manual has it since 3.4, and at least a
// quarter. It is written out although it is the default, so that it can be read in the file. Before 3.4 it is a whole number of at least 1.
func cache(version string, memory size.Size) any {
	half := float64(memory-size.GiB) / 2 / float64(size.GiB)
	if before(version, 3, 4) {
		return int64(max(1, half))
	}
	return max(0.25, math.Floor(half*100)/100)
}

func engine(recipe map[string]any) string {
	if name, found := value(recipe, "storage.engine"); found {
		return fmt.Sprint(name)
	}
	return "wiredTiger"
}

func before(version string, major, minor int) bool {
	words := strings.SplitN(version, ".", 3)
	a, err := strconv.Atoi(words[0])
	b := 0
	if len(words) > 1 {
		b, _ = strconv.Atoi(words[1])
	}
	return err == nil && (a < major || a == major && b < minor)
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
