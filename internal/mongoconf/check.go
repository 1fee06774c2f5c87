package mongoconf

import (
	"fmt"
	"slices"
	"strings"
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
	{"processManagement.pidFilePath", "the agent writes /run/grove/mongod.pid"},
}

// Check gives what a recipe's mongod.config must not hold, in the order of this page.
func Check(recipe map[string]any) Refusals {
	var found Refusals
	for _, f := range fixed {
		if _, has := value(recipe, f.Key); has {
			found = append(found, Refusal{f.Key, "cannot be set: " + f.Why})
		}
	}
	for _, key := range []string{"storage", "systemLog", "net", "security", "processManagement"} {
		if v, has := recipe[key]; has {
			if _, tree := v.(map[string]any); !tree {
				found = append(found, Refusal{key, fmt.Sprintf("want settings below it, have %v", v)})
			}
		}
	}
	return append(append(append(found, port(recipe)...), loopback(recipe)...), tls(recipe)...)
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
