package agent

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"grove/firstboot/status"
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

func TestTuningIsShownToAPerson(t *testing.T) {
	var out bytes.Buffer
	showTuning(&out, status.Tuning{Profile: "mongodb", Differs: []string{"a differs"}, Warnings: []status.Warning{{Text: "it is cold", Explanation: "it is winter"}},
		Values: []status.Tuned{{Name: "vm.max_map_count", Want: "131060", AtLeast: true, Before: "65530", After: "131060", State: "same", Source: "the notes"}}})
	want := `profile mongodb
vm.max_map_count: is 131060, want at least 131060, was 65530: same (the notes)
a differs
mongod warns: it is cold: it is winter
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
