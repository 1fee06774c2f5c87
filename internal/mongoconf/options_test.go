package mongoconf

import (
	"strings"
	"testing"

	"grove/internal/spec"
)

func TestWhatAServerWouldNotStartWith(t *testing.T) {
	for _, c := range []struct{ version, recipe, want string }{
		{"6.0.5", `{"net": {"prot": 27018}}`, `net.prot: is no setting of mongod's; did you mean "port"?`},
		{"6.0.5", `{"strage": {"directoryPerDB": true}}`, `strage: is no setting of mongod's; did you mean "storage"?`},
		{"6.0.5", `{"storage": {"cacheSizeGB": 1}}`, `storage.cacheSizeGB: is no setting of mongod's; did you mean "storage.wiredTiger.engineConfig.cacheSizeGB"?`},
		{"6.0.5", `{"zzz": 1}`, `zzz: is no setting of mongod's`},
		{"6.0.5", `{"net.port": 27018}`, "net.port: want one level a key, net: {port: ...}"},
		{"6.0.5", `{"storage": {"journal": {"enabled": true}}}`, ""},
		{"6.1.0", `{"storage": {"journal": {"enabled": true}}}`, "storage.journal.enabled: is gone since mongod 6.1, and this is 6.1.0"},
		{"4.0.28", `{"net": {"tls": {"mode": "preferTLS"}}}`, "net.tls.mode: comes with mongod 4.2 only, and this is 4.0.28"},
		{"4.2.6", `{"storage": {"mmapv1": {"smallFiles": true}}}`, "storage.mmapv1.smallFiles: is gone since mongod 4.2, and this is 4.2.6"},
		{"4.2.6", `{"storage": {"engine": "mmapv1"}}`, "storage.engine: MMAPv1 is gone since mongod 4.2, and this is 4.2.6"},
		{"3.2.22", `{"storage": {"wiredTiger": {"engineConfig": {"cacheSizeGB": 1.5}}}}`, "storage.wiredTiger.engineConfig.cacheSizeGB: want a whole number before mongod 3.4, have 1.5"},
		{"6.0.5", `{"net": {"maxIncomingConnections": "many"}}`, `net.maxIncomingConnections: want a whole number, have "many"`},
		{"6.0.5", `{"storage": {"directoryPerDB": "yes"}}`, `storage.directoryPerDB: want true or false, have "yes"`},
		{"6.0.5", `{"storage": {"syncPeriodSecs": 1.5}, "operationProfiling": {"slowOpThresholdMs": 50}}`, ""},
		{"6.0.5", `{"net": {"port": null}}`, "net.port: want a port from 1 to 65535, have <nil>"},
		{"6.0.5", `{"replication": null}`, "replication: want settings below it, have nothing"},
		{"6.0.5", `{"setParameter": {"what.ever": 1, "ttlMonitorEnabled": false}}`, ""},
		{"6.0.5", `{"systemLog": {"component": {"storage": {"verbosity": 2}}}}`, ""},
		{"8.0.11", `{"security": {"kmip": {"serverName": "k"}, "ldap": {"servers": "l"}}, "auditLog": {"destination": "file"}}`, ""},
		{"8.3.0", `{"net": {"secondaryPorts": 2}}`, ""},
		{"8.3.0", `{"net": {"prot": 2}}`, `net.prot: is no setting of mongod's; did you mean "port"?`},
		{"", `{"storage": {"journal": {"commitIntervalMs": 100}}}`, ""},
	} {
		var got []string
		for _, r := range Check(Server{c.version, spec.AMD64}, read(t, c.recipe)) {
			got = append(got, r.Key+": "+r.Why)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.version, c.recipe, strings.Join(got, "; "), c.want)
		}
	}
	if got := Check(Server{"3.2.22", spec.ARMHF}, read(t, `{"storage": {"engine": "wiredTiger"}}`)); len(got) != 1 || got[0].Key != "storage.engine" {
		t.Errorf("WiredTiger on 32 bits: got %v", got)
	}
}

// What Grove writes for any server, the server must know.
func TestGrovesOwnSettingsAreKnown(t *testing.T) {
	for _, version := range []string{"3.0.15", "3.2.22", "3.4.24", "3.6.23", "4.0.28", "4.2.25", "4.4.29", "5.0.32", "6.0.27", "6.1.0", "7.0.14", "8.0.11"} {
		for _, engine := range []string{"wiredTiger", "mmapv1"} {
			if engine == "mmapv1" && !older(version, "4.2") {
				continue
			}
			if found := strangers(version, ours(Server{version, spec.AMD64}, engine, Machine{Places: Where(nil, true)})); len(found) > 0 {
				t.Errorf("%s with %s: %v", version, engine, found)
			}
		}
	}
}

func TestTableHasFormsThatAreKnown(t *testing.T) {
	all, sections := table()
	if len(all) < 100 || !sections["storage.wiredTiger.engineConfig"] || !sections["cloud"] {
		t.Fatalf("got %d settings, sections %v", len(all), sections)
	}
	for key, o := range all {
		if len(o.kind) != 1 || !strings.Contains("binslt", o.kind) || sections[key] || o.since != "" && o.until != "" && !older(o.since, o.until) {
			t.Errorf("%+v", o)
		}
	}
	if known := Known("6.0.5"); known["storage.journal.enabled"] != "true" || known["net.serviceExecutor"] != "" {
		t.Errorf("got %v", known)
	}
}
