package agent

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"grove/internal/host"
)

func TestNodeIsTunedBeforeMongodAndHearsItsWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.file("etc/grove/image.json", `{"image": "demo", "disk_id": "`+guid+`", "mongod": {"version": "6.0.5", "config": {}}, "tuning": {"profile": "mongodb"}}`)
		n.file("sys/firmware/qemu_fw_cfg/by_name/opt/org.grove/node.yaml/raw", "hostname: db1\ntuning: {sysctl: {net.core.somaxconn: '4096'}}\n")
		n.file("proc/sys/vm/swappiness", "60\n")
		n.file("proc/sys/net/core/somaxconn", "128\n")
		n.warnings = []string{"vm.max_map_count is too low"}
		found := ""
		n.machine.Spawned = func(host.Running) {
			data, _ := os.ReadFile(n.root + "/proc/sys/vm/swappiness")
			found = string(data)
		}
		n.begin()
		pass(10 * time.Second)
		if found != "1" {
			t.Errorf("swappiness when mongod started: %q", found)
		}
		n.hasSaid("tuning: mongodb: 2 set, 0 so before, 10 that this kernel lacks, 3 wait for mongod", "tuning: mongod warns: vm.max_map_count is too low: Grove should have set vm.max_map_count")
		got := n.status()
		if len(got.Tuning.Values) != 15 || len(got.Tuning.Warnings) != 1 || len(got.Problems) != 1 || !strings.Contains(got.Problems[0], "warnings: mongod warns: vm.max_map_count") {
			t.Errorf("got %+v", got)
		}
		n.leave()
		n.begin()
		pass(10 * time.Second)
		again := n.status()
		if v := again.Tuning.Values[3]; v.Name != "vm.swappiness" || v.Before != "60" || v.After != "1" || v.State != "set" {
			t.Errorf("a new agent has forgotten what the value was: %+v", v)
		}
		n.leave()
	})
}
