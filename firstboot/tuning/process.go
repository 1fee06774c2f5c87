package tuning

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"grove/internal/host"
)

// titles are the limits' names in /proc/PID/limits (fs/proc/base.c).
var titles = map[string]string{"nofile": "Max open files", "nproc": "Max processes", "memlock": "Max locked memory"}

// Start is what of the values a daemon is started with.
func Start(values []Value) (limits []host.Limit, env []string) {
	for _, v := range values {
		switch v.rule {
		case limited:
			n, err := strconv.ParseInt(v.Want, 10, 64)
			if err != nil {
				n = -1 // unlimited
			}
			limits = append(limits, host.Limit{Resource: strings.TrimPrefix(v.Name, "limit "), Value: n})
		case environment:
			env = append(env, strings.TrimPrefix(v.Name, "environment ")+"="+v.Want)
		}
	}
	return limits, env
}

// limitOf is a process's limit, `1024/4096` when soft and hard differ.
func limitOf(root, pid, resource string) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("%s/proc/%s/limits", root, pid))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		rest, is := strings.CutPrefix(line, titles[resource]+" ")
		if words := strings.Fields(rest); is && len(words) > 1 {
			if words[0] == words[1] {
				return words[0], nil
			}
			return words[0] + "/" + words[1], nil
		}
	}
	return "", fs.ErrNotExist
}

// variable is one of a process's environment as it was when the process began.
func variable(root string, pid int, name string) (string, error) {
	data, err := os.ReadFile(fmt.Sprintf("%s/proc/%d/environ", root, pid))
	if err != nil {
		return "", err
	}
	for _, one := range strings.Split(string(data), "\x00") {
		if value, is := strings.CutPrefix(one, name+"="); is {
			return value, nil
		}
	}
	return "", nil
}
