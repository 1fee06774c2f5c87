package mongoconf

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/size"
	"grove/internal/spec"
)

const plainFile = `net:
    bindIp: 0.0.0.0
    port: 27017
    unixDomainSocket:
        enabled: false
processManagement:
    fork: false
security:
    authorization: enabled
storage:
    dbPath: /state/mongod/db
    wiredTiger:
        engineConfig:
            cacheSizeGB: 0.47
systemLog:
    destination: file
    logAppend: true
    logRotate: reopen
    path: /state/mongod/log/mongod.log
`

func TestFile(t *testing.T) {
	const wiredTiger = "    wiredTiger:\n        engineConfig:\n            cacheSizeGB: 0.47\n"
	for _, c := range []struct {
		name   string
		server Server
		recipe string // JSON, as it lies in the image
		memory size.Size
		room   size.Size
		want   *strings.Replacer // from the plain file
		port   int
	}{
		{"an empty recipe gives Grove's own", Server{"6.0.5", spec.AMD64}, `{}`, 2*size.GiB - 50*size.MiB, size.TiB, strings.NewReplacer(), 27017},
		{"the recipe wins, and adds", Server{"6.0.5", spec.AMD64}, `{"security": {"authorization": "disabled"}, "storage": {"directoryPerDB": true}}`, 2*size.GiB - 50*size.MiB, size.TiB,
			strings.NewReplacer("authorization: enabled", "authorization: disabled", "/db\n", "/db\n    directoryPerDB: true\n"), 27017},
		{"whole numbers stay whole", Server{"6.0.5", spec.AMD64}, `{"net": {"port": 27018, "maxIncomingConnections": 1000000}}`, 2*size.GiB - 50*size.MiB, size.TiB,
			strings.NewReplacer("    port: 27017", "    maxIncomingConnections: 1000000\n    port: 27018"), 27018},
		{"a small file system has a short journal", Server{"6.0.5", spec.AMD64}, `{}`, 2*size.GiB - 50*size.MiB, size.GiB,
			strings.NewReplacer("GB: 0.47\n", "GB: 0.47\n            configString: log=(file_max=8MB)\n"), 27017},
		{"a small machine has a quarter of a GiB", Server{"6.0.5", spec.AMD64}, `{}`, 512 * size.MiB, size.TiB, strings.NewReplacer("0.47", "0.25"), 27017},
		{"64 GiB give half of 63", Server{"8.0.11", spec.AMD64}, `{}`, 64 * size.GiB, size.TiB, strings.NewReplacer("0.47", "31.5"), 27017},
		{"3.4 has the same rule, and a choice of engines", Server{"3.4.24", spec.AMD64}, `{}`, 64 * size.GiB, size.TiB, strings.NewReplacer("/db\n", "/db\n    engine: wiredTiger\n", "0.47", "31.5"), 27017},
		{"3.2 takes 60 % less 1 GiB, a whole number", Server{"3.2.22", spec.AMD64}, `{}`, 64 * size.GiB, size.TiB,
			strings.NewReplacer("/db\n", "/db\n    engine: wiredTiger\n", "0.47", "37"), 27017},
		{"3.2 takes at least 1", Server{"3.2.22", spec.AMD64}, `{}`, 2 * size.GiB, size.TiB, strings.NewReplacer("/db\n", "/db\n    engine: wiredTiger\n", "0.47", "1"), 27017},
		{"3.0 with WiredTiger takes half", Server{"3.0.7", spec.AMD64}, `{"storage": {"engine": "wiredTiger"}}`, 64 * size.GiB, size.TiB,
			strings.NewReplacer("/db\n", "/db\n    engine: wiredTiger\n", "0.47", "32"), 27017},
		{"3.0 is MMAPv1 by itself, with a journal", Server{"3.0.7", spec.AMD64}, `{}`, 64 * size.GiB, size.TiB,
			strings.NewReplacer("/db\n"+wiredTiger, "/db\n    engine: mmapv1\n    journal:\n        enabled: true\n"), 27017},
		{"32 bits have MMAPv1 with small files", Server{"3.2.22", spec.ARMHF}, `{}`, size.GiB, size.TiB,
			strings.NewReplacer("/db\n"+wiredTiger, "/db\n    engine: mmapv1\n    journal:\n        enabled: true\n    mmapv1:\n        smallFiles: true\n"), 27017},
		{"a recipe does without the journal", Server{"3.0.8", spec.ARMHF}, `{"storage": {"journal": {"enabled": false}}}`, size.GiB, size.TiB,
			strings.NewReplacer("/db\n"+wiredTiger, "/db\n    engine: mmapv1\n    journal:\n        enabled: false\n    mmapv1:\n        smallFiles: true\n"), 27017},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Make(c.server, read(t, c.recipe), Machine{c.memory, c.room, Where(nil, true), Access{FirstUser: true}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want.Replace(plainFile), string(got.Text)); diff != "" {
				t.Errorf("want - got +\n%s", diff)
			}
			if got.Port != c.port {
				t.Errorf("got port %d; want %d", got.Port, c.port)
			}
		})
	}
}

func TestAMemberOfASet(t *testing.T) {
	set := Access{Set: "rs0", KeyFile: "/run/mongod/key"}
	const closed = "setParameter:\n    enableLocalhostAuthBypass: false\n"
	for _, c := range []struct {
		name   string
		server Server
		recipe string
		access Access
		has    []string
		hasNot string
	}{
		{"has the set's name and key, and is closed", Server{"6.0.5", spec.AMD64}, `{}`, set, []string{"    keyFile: /run/mongod/key\n", "replication:\n    replSetName: rs0\n", closed}, "oplog"},
		{"of which nobody is asked who he is has no key", Server{"6.0.5", spec.AMD64}, `{"security": {"authorization": "disabled"}}`, set, []string{"    authorization: disabled\n", "replSetName: rs0\n"}, "keyFile"},
		{"with an oplog of the recipe's", Server{"6.0.5", spec.AMD64}, `{"replication": {"oplogSizeMB": 990}}`, set, []string{"replication:\n    oplogSizeMB: 990\n    replSetName: rs0\n"}, "  oplogSizeMB: 128"},
		{"of 32 bits has a small oplog", Server{"3.2.22", spec.ARMHF}, `{}`, set, []string{"replication:\n    oplogSizeMB: 128\n    replSetName: rs0\n"}, "1 GiB"},
		{"alone is closed as well", Server{"6.0.5", spec.AMD64}, `{}`, Access{}, []string{closed}, "repl"},
		{"whose parameters are the recipe's, too", Server{"6.0.5", spec.AMD64}, `{"setParameter": {"ttlMonitorEnabled": false}}`, set, []string{closed + "    ttlMonitorEnabled: false\n"}, "oplog"},
	} {
		got, err := Make(c.server, read(t, c.recipe), Machine{size.GiB, size.TiB, Where(nil, true), c.access})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range c.has {
			if !strings.Contains(string(got.Text), text) {
				t.Errorf("a member %s: want %q in\n%s", c.name, text, got.Text)
			}
		}
		if strings.Contains(string(got.Text), c.hasNot) {
			t.Errorf("a member %s: want no %q in\n%s", c.name, c.hasNot, got.Text)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ recipe, want string }{
		{`{"storage": {"dbPath": "/data"}}`, "storage.dbPath"},
		{`{"processManagement": {"fork": true, "pidFilePath": "/x"}}`, "processManagement.fork processManagement.pidFilePath"},
		{`{"systemLog": {"destination": "syslog"}}`, "systemLog.destination"},
		{`{"net": {"bindIp": "10.0.0.1"}}`, "net.bindIp"},
		{`{"net": {"bindIp": "10.0.0.1, 127.0.0.1"}}`, ""},
		{`{"net": {"port": "27017"}}`, "net.port"},
		{`{"net": {"port": 0}}`, "net.port"},
		{`{"net": {"tls": {"mode": "requireTLS"}}}`, "net.tls.mode"},
		{`{"net": {"tls": {"mode": "preferTLS"}}}`, ""},
		{`{"storage": "big"}`, "storage"},
		{`{"replication": {"oplogSizeMB": 990}, "setParameter": {"ttlMonitorEnabled": false}}`, ""},
		{`{"replication": {"replSetName": "rs0"}, "security": {"keyFile": "/k"}}`, "replication.replSetName security.keyFile"},
	} {
		var keys []string
		for _, r := range Check(Server{"6.0.5", spec.AMD64}, read(t, c.recipe)) {
			keys = append(keys, r.Key)
		}
		if got := strings.Join(keys, " "); got != c.want {
			t.Errorf("%s: refused %q; want %q", c.recipe, got, c.want)
		}
	}
	_, err := Make(Server{"6.0.5", spec.AMD64}, read(t, `{"storage": {"dbPath": "/data"}}`), Machine{size.GiB, size.TiB, Where(nil, true), Access{}})
	if refused := (Refusals{}); !errors.As(err, &refused) {
		t.Errorf("got %v; want the refusals", err)
	}
}

func TestPlaces(t *testing.T) {
	volumes := func(v spec.Volumes) *spec.Storage { return &spec.Storage{Volumes: v} }
	for _, c := range []struct {
		name    string
		storage *spec.Storage
		state   bool
		want    Places
	}{
		{"without disks all lies on state", nil, true, Places{"/state/mongod/db", "/state/mongod/log/mongod.log", nil}},
		{"one file system for the data, the log on state", volumes(spec.Volumes{}), true, Places{"/data", "/state/mongod/log/mongod.log", []string{"/data"}}},
		{"the same without a medium", volumes(spec.Volumes{}), false, Places{"/data", "/data/mongod.log", []string{"/data"}}},
		{"three volumes", volumes(spec.Volumes{Data: 90, Log: 5, Journal: 5}), true, Places{"/data", "/log/mongod.log", []string{"/data", "/log", "/journal"}}},
		{"a volume for the journal only", volumes(spec.Volumes{Data: 90, Journal: 5}), true, Places{"/data", "/state/mongod/log/mongod.log", []string{"/data", "/journal"}}},
	} {
		if diff := cmp.Diff(c.want, Where(c.storage, c.state)); diff != "" {
			t.Errorf("%s: want - got +\n%s", c.name, diff)
		}
	}
}

func read(t *testing.T, text string) (tree map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}
