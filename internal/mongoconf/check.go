package mongoconf

import (
	"fmt"
	"slices"
	"strings"

	"grove/internal/spec"
)

// Refusal is one setting of a recipe that cannot be. Key is its path: storage.dbPath.
type Refusal struct{ Key, Why string }

// Refusals is an error that names every one.
type Refusals []Refusal

func (r Refusals) Error() string {
	lines := make([]string, len(r))
	for i, one := range r {
		lines[i] = one.Key + ": " + one.Why
	}
	return strings.Join(lines, "; ")
}

// fixed are the keys that stay Grove's, each with the reason. A key covers all that is below it.
var fixed = []Refusal{
	{"storage.dbPath", "the data lies on the data disks, or on the state partition without any"},
	{"systemLog.destination", "the log is a file, from which the agent reads why mongod ended"},
	{"systemLog.path", "the log lies in its volume, or on the state partition"},
	{"systemLog.logAppend", "a restart must not lose the log of what came before"},
	{"processManagement.fork", "the agent starts mongod and watches it in the foreground"},
	{"replication.replSetName", "replica_set.name is the place for it, with replica_set.members"},
	{"security.keyFile", "it comes from node.yaml (secrets.key): an image has no secret"},
	{"security.clusterAuthMode", "the members know each other by the key in node.yaml (secrets.key)"},
	{"security.enableLocalhostAuthBypass", "the agent opens it for the first user, and closes it"},
	{"setParameter.enableLocalhostAuthBypass", "the agent opens it for the first user, and closes it"},
	{"processManagement.pidFilePath", "the agent writes /run/grove/mongod.pid"},
}

// Check gives what a recipe's mongod.config must not hold for this server: what is Grove's, and what the server would not start with. Each key has one reason.
func Check(s Server, recipe map[string]any) Refusals {
	if older(s.Version, "1.0") {
		s.Version = newest // the version is missing or no version, which is a fault of its own
	}
	var found Refusals
	for _, f := range fixed {
		if _, has := value(recipe, f.Key); has {
			found = append(found, Refusal{f.Key, "cannot be set: " + f.Why})
		}
	}
	all := slices.Concat(found, port(recipe), loopback(recipe), tls(recipe), engines(s, recipe), strangers(s.Version, recipe))
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(r Refusal) bool {
		twice := seen[r.Key]
		seen[r.Key] = true
		return twice
	})
}

// engines knows which storage engines a server has.
func engines(s Server, recipe map[string]any) (found Refusals) {
	name := s.engine(recipe)
	switch {
	case name == "mmapv1" && !older(s.Version, "4.2"):
		found = append(found, Refusal{"storage.engine", fmt.Sprintf("MMAPv1 is gone since mongod 4.2, and this is %s", s.Version)})
	case name == "wiredTiger" && s.Arch == spec.ARMHF:
		found = append(found, Refusal{"storage.engine", "WiredTiger needs a processor of 64 bits; want mmapv1"})
	}
	size, has := value(recipe, "storage.wiredTiger.engineConfig.cacheSizeGB")
	if _, whole := plain(size).(int64); has && !whole && older(s.Version, "3.4") {
		found = append(found, Refusal{"storage.wiredTiger.engineConfig.cacheSizeGB", fmt.Sprintf("want a whole number before mongod 3.4, have %v", size)})
	}
	return found
}

func port(recipe map[string]any) Refusals {
	v, has := value(recipe, "net.port")
	n, whole := plain(v).(int64)
	if !has || whole && n >= 1 && n <= 65535 {
		return nil
	}
	return Refusals{{"net.port", fmt.Sprintf("want a port from 1 to 65535, have %v", v)}}
}

func loopback(recipe map[string]any) Refusals {
	v, has := value(recipe, "net.bindIp")
	if !has {
		return nil
	}
	var addresses []string
	for _, a := range strings.Split(fmt.Sprint(v), ",") {
		addresses = append(addresses, strings.TrimSpace(a))
	}
	for _, a := range []string{"0.0.0.0", "*", "127.0.0.1", "localhost"} {
		if slices.Contains(addresses, a) {
			return nil
		}
	}
	return Refusals{{"net.bindIp", fmt.Sprintf("want 127.0.0.1 among the addresses, where the agent asks whether mongod is ready, have %q", v)}}
}

func tls(recipe map[string]any) Refusals {
	for _, key := range []string{"net.tls.mode", "net.ssl.mode"} {
		if v, _ := value(recipe, key); v == "requireTLS" || v == "requireSSL" {
			return Refusals{{key, fmt.Sprintf("%v shuts out the agent, which asks on the loopback address without it: want preferTLS", v)}}
		}
	}
	return nil
}
