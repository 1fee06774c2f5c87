package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const ofASet = `{"image": "demo", "board": "m4.4xlarge", "disk_id": "` + guid + `", "mongod": {"version": "6.0.5", "config": {}},
	"replica_set": {"name": "rs0", "members": [{"host": "db1"}, {"host": "db2"}], "bootstrap": "all"}}`

func TestASetWithoutAKeyIsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.file("etc/grove/image.json", ofASet)
		n.file("proc/cmdline", "quiet grove.hostname=db1")
		n.begin()
		pass(30 * time.Second)
		if s := n.status(); s.Phase != "degraded" || s.Mongod.PID != 0 || len(s.Problems) != 1 || !strings.Contains(s.Problems[0], "the node's node.yaml has no secrets.key; `grove node secrets` makes one") {
			t.Errorf("got %s, %v", s.Phase, s.Problems)
		}
		n.leave()
	})
}

func TestAMembersMongodHasTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, bypass := range map[string]bool{"db1": true, "db2": false} { // the first member's lets the first user be made
			n := newNode(t)
			n.file("etc/grove/image.json", ofASet)
			n.file("sys/firmware/qemu_fw_cfg/by_name/opt/org.grove/node.yaml/raw", "hostname: "+name+"\nsecrets: {key: aGVsbG8h, operator: {user: admin, password: for this test}}\n")
			n.begin()
			pass(4 * time.Second) // before it answers, and is asked
			conf, err := os.ReadFile(filepath.Join(n.root, "run/grove/mongod.conf"))
			if err != nil || !strings.Contains(string(conf), "replSetName: rs0") || !strings.Contains(string(conf), "keyFile: /run/grove/mongod.key") || strings.Contains(string(conf), "enableLocalhostAuthBypass: false") == bypass {
				t.Errorf("%s: got %v\n%s", name, err, conf)
			}
			if key, err := os.ReadFile(filepath.Join(n.root, "run/grove/mongod.key")); err != nil || string(key) != "aGVsbG8h" || !strings.Contains(n.machine.String(), "/run/grove/mongod.key -r-------- 990:990") {
				t.Errorf("%s: the key is %s, %v\n%s", name, key, err, n.machine)
			}
			if _, err := os.Stat(filepath.Join(n.root, "state/mongod/db/grove-set")); err != nil {
				t.Error(err)
			}
			if said := n.said(); strings.Contains(said, "aGVsbG8h") || strings.Contains(said, "for this test") {
				t.Errorf("the console has a secret: %s", said)
			}
			n.leave()
		}
	})
}
