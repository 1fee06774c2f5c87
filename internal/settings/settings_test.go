package settings

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"grove/internal/load"
	"grove/internal/spec"
)

// aKey is of a pair that was made for this test.
const aKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAnzfSYTm2q4uOS4PFFqzbSGlDlqVKyD4uOPpOcKlE2h operator"

func TestFaultsAreFoundAtTheirKeys(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"network: {interfaces: [{name: eth0, address: 192.168.1.11/24, gateway: 192.168.1.1, mtu: 9001}, {mac: '52:54:00:12:34:56', mtu: 1500}], dns: [192.168.1.1], ntp: [a.example.org, 10.0.0.1]}", ""},
		{"network: {interfaces: [{mtu: 1500}]}", "network.interfaces[0]: is any interface; want a name such as eth0, or a mac"},
		{"network: {interfaces: [{name: eth0}, {name: eth0}]}", "network.interfaces[1]: is the same as network.interfaces[0]"},
		{"network: {interfaces: [{name: eth0, mac: '52:54:00:12:34:56'}]}", "network.interfaces[0]: want a name or a mac, have both"},
		{"network: {interfaces: [{mac: 'x'}]}", `network.interfaces[0].mac: want six bytes such as 52:54:00:12:34:56, have "x"`},
		{"network: {interfaces: [{name: eth0, address: 192.168.1.11}]}", `network.interfaces[0].address: want an IPv4 address with its network's length, such as 192.168.1.11/24, have "192.168.1.11"`},
		{"network: {interfaces: [{name: eth0, address: 192.168.1.0/24}]}", `network.interfaces[0].address: want an IPv4 address with its network's length, such as 192.168.1.11/24, have "192.168.1.0/24"`},
		{"network: {interfaces: [{name: eth0, address: 192.168.1.11/24, gateway: 192.168.2.1}]}", `network.interfaces[0].gateway: want another address within 192.168.1.0/24, have "192.168.2.1"`},
		{"network: {interfaces: [{name: eth0, gateway: 192.168.2.1}]}", "network.interfaces[0].gateway: goes with an address only; DHCP brings its own"},
		{"network: {interfaces: [{name: eth0, address: 192.168.1.255/24}]}", `network.interfaces[0].address: want an IPv4 address with its network's length, such as 192.168.1.11/24, have "192.168.1.255/24"`},
		{"network: {interfaces: [{name: eth0, address: 192.168.1.11/24}, {name: eth1, address: 192.168.1.11/24}]}", "network.interfaces[1].address: is that of network.interfaces[0]"},
		{"network: {ntp: [a, b, c, d, e, f]}", "network.ntp: want at most 5 servers, have 6"},
		{"network: {hosts: {localhost: 10.0.0.1}}", "network.hosts.localhost: is every machine's name for itself"},
		{"network: {mtu: 90}", "network.mtu: want 576 to 9216, have 90"},
		{"network: {dns: [dns1]}", `network.dns[0]: want an address such as 192.168.1.1, have "dns1"`},
		{"network: {hosts: {db1: here}}", `network.hosts.db1: want an address such as 192.168.1.11, have "here"`},
		{"network: {ntp: ['a b']}", `network.ntp[0]: want a name or an address, have "a b"`},
		{"firewall: {cluster: [192.168.1.7/24]}", `firewall.cluster[0]: want a network such as 192.168.1.0/24, have "192.168.1.7/24"`},
		{"tuning: {profile: mongo}", `tuning.profile: want one of mongodb, classic-2015, none, have "mongo"; did you mean "mongodb"?`},
		{"tuning: {sysctl: {net.ipv4.tcp_tw_recycle: '1'}}", "tuning.sysctl.net.ipv4.tcp_tw_recycle: is gone since Linux 4.12, as it dropped connections from behind one address (commit 4396e46187ca); leave it out"},
		{"tuning: {sysctl: {'../x': '1'}}", `tuning.sysctl.../x: want a name such as vm.swappiness, have "../x"`},
		{"ssh: {keys: [" + aKey + "]}", ""},
		{"ssh: {keys: [hello]}", `ssh.keys[0]: want a public key such as ssh-ed25519 AAAA... name, have "hello"`},
		{"ssh: {keys: ['-----BEGIN OPENSSH PRIVATE KEY-----']}", "ssh.keys[0]: is a private key; want the public one, from the file with .pub"},
		{"ssh: {keys: ['no-pty " + aKey + "']}", "ssh.keys[0]: want one key without options"},
		{"status: {port: 8081, browse: true}", "status.port: 8081 is the page's for the data (status.browse); want another"},
		{"status: {port: 8081}", ""},
		{"status: {port: 70000}", "status.port: want a port from 1 to 65535, have 70000"},
		{"metrics: {push: example.org}", `metrics.push: want an address that begins with https:// or http://, have "example.org"`},
		{"metrics: {push: 'https://me:x@example.org'}", "metrics.push: must not hold a password: it would stand in every image and on the status page"},
		{"replica_set: {name: rs0, members: [db1, {host: db2, priority: 0.5, tags: {place: attic}}, {host: db3.example.org, hidden: true}, {host: db4, arbiter: true}], bootstrap: solo}", ""},
		{"replica_set: {members: [db1]}", "replica_set.name: is missing; want a name such as rs0"},
		{"replica_set: {name: rs0}", "replica_set.members: want 1 to 50 hostnames, have 0"},
		{"replica_set: {name: 'a/b', members: [db1]}", `replica_set.name: want at most 64 letters, digits, dots, hyphens and underscores, have "a/b"`},
		{"replica_set: {name: rs0, members: [db1, db1]}", "replica_set.members[1]: db1 is replica_set.members[0] already"},
		{"replica_set: {name: rs0, members: ['db1:27017']}", `replica_set.members[0]: want a hostname such as db1, without a port (mongod.config.net.port is that of all), have "db1:27017"`},
		{"replica_set: {name: rs0, members: [10.0.0.1]}", `replica_set.members[0]: want a hostname such as db1, without a port (mongod.config.net.port is that of all), have "10.0.0.1"`},
		{"replica_set: {name: rs0, members: [{host: db1, arbiter: true}]}", "replica_set.members[0]: the first member founds the set, so it must be able to become its primary: no arbiter, not hidden, with a vote and a priority"},
		{"replica_set: {name: rs0, members: [db1, {host: db2, hidden: true, priority: 1}]}", "replica_set.members[1].priority: want 0: an arbiter, a hidden member and one without a vote never become primary"},
		{"replica_set: {name: rs0, members: [db1, {host: db2, votes: 2}]}", "replica_set.members[1].votes: want 0 or 1, have 2"},
		{"replica_set: {name: rs0, members: [db1, {host: db2, arbiter: true, votes: 0}]}", "replica_set.members[1].votes: an arbiter is there to vote"},
		{"replica_set: {name: rs0, members: [db1], bootstrap: force}", `replica_set.bootstrap: want one of all, solo, have "force"`},
		{"logs: {rotate: weekly}", `logs.rotate: want one of daily, hourly, none, have "weekly"`},
		{"logs: {size: 1KiB}", "logs.size: have 1KiB, want at least 1MiB"},
	} {
		var s struct {
			spec.Settings `yaml:",inline"`
		}
		if _, found := load.YAML("x", []byte(c.yaml), &s); len(found) > 0 {
			t.Errorf("%s: %v", c.yaml, found)
		}
		var got []string
		Check(s.Settings, func(key, format string, values ...any) { got = append(got, key+": "+fmt.Sprintf(format, values...)) })
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.yaml, strings.Join(got, "\n"), c.want)
		}
	}
}

func TestSecretsAreCheckedAndNotRepeated(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"{key: c2VjcmV0c2VjcmV0, operator: {user: admin, password: correct horse}}", ""},
		{"{key: 'not base64!'}", "secrets.key: want 6 to 1024 characters of base64, as `grove node secrets` makes them, have 11 characters"},
		{"{key: " + strings.Repeat("QUJD", 257) + "}", "secrets.key: want 6 to 1024 characters of base64, as `grove node secrets` makes them, have 1028 characters"},
		{"{operator: {user: grove-agent, password: hunter2hunter2}}", `secrets.operator.user: want a name such as admin, other than grove-agent, have "grove-agent"`},
		{"{operator: {user: admin, password: hunter2}}", "secrets.operator.password: want at least 8 characters"},
		{"{operator: {password: hunter2hunter2}}", `secrets.operator.user: want a name such as admin, other than grove-agent, have ""`},
		{"{operator: {user: admin, password: [hunter2]}}", "secrets.operator.password: want a text, have a list"},
		{"{operator: {user: admin, password: \"hunter2\\nhunter2\"}}", "secrets.operator.password: want one line of text"},
	} {
		var s struct {
			Secrets spec.Secrets `yaml:"secrets"`
		}
		source, found := load.YAML("x", []byte("secrets: "+c.yaml), &s)
		if len(found) == 0 {
			CheckSecrets(s.Secrets, func(key, format string, values ...any) {
				found = append(found, source.Finding(key, fmt.Sprintf(format, values...)))
			})
		}
		var got []string
		for _, f := range found {
			got = append(got, f.Key+": "+f.Text)
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.yaml, strings.Join(got, "\n"), c.want)
		}
		json, _ := json.Marshal(s)
		if shown := fmt.Sprintf("%v %+v %#v %s %s %q", s, s, s, s.Secrets.Key, json, s.Secrets.Operator.Password); strings.Contains(shown, "hunter2") || strings.Contains(shown, "c2VjcmV0") {
			t.Errorf("%s is shown: %s", c.yaml, shown)
		}
	}
}

func TestNodeGoesOverRecipeFieldByField(t *testing.T) {
	recipe := spec.Settings{Network: spec.Network{MTU: 9001, NTP: []string{"169.254.169.123"}, Hosts: map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"}}, Tuning: spec.Tuning{Profile: "mongodb"}}
	node := spec.Settings{Network: spec.Network{MTU: 1500, Hosts: map[string]string{"a": "10.0.0.9"}}, Tuning: spec.Tuning{Sysctl: map[string]string{"vm.swappiness": "0"}}}
	got := node.Over(recipe)
	want := "{[] 1500 [] [] map[a:10.0.0.9 b:10.0.0.2] [169.254.169.123]} {mongodb map[vm.swappiness:0]}"
	if s := fmt.Sprint(got.Network, got.Tuning); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}
