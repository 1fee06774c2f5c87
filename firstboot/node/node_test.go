package node

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"grove/firstboot/disk"
	"grove/internal/host"
)

func TestFirstSourceWins(t *testing.T) {
	const blob, cmdline = "sys/firmware/qemu_fw_cfg/by_name/opt/org.grove/node.yaml/raw", "proc/cmdline"
	for _, c := range []struct {
		name               string
		blob, cmdline      string
		from, host, faults string
	}{
		{"fw_cfg before the command line", "hostname: db1\n", "quiet grove.hostname=db2", "fw_cfg", "db1", ""},
		{"the command line", "", "quiet grove.hostname=db2", "kernel command line", "db2", ""},
		{"none", "", "quiet", "", "", ""},
		{"a misspelt key is refused with its place", "hostnam: db1\n", "quiet grove.hostname=db2", "fw_cfg", "", "opt/org.grove/node.yaml:1:1: hostnam: "},
		{"a bad name is refused with its place", "# ours\nhostname: -db1\n", "quiet", "fw_cfg", "", "opt/org.grove/node.yaml:2:11: hostname: want small letters"},
		{"a bad name on the command line", "", "grove.hostname=DB_1", "kernel command line", "", "kernel command line:1:11: hostname: want small letters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			put(t, root, cmdline, c.cmdline)
			if c.blob != "" {
				put(t, root, blob, c.blob)
			}
			got, err := Look(&host.FakeMachine{}, root, disk.Medium{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got.From != c.from || got.Personal.Hostname != c.host || !strings.HasPrefix(got.Faults.Error(), c.faults) || (c.faults == "") != (len(got.Faults) == 0) {
				t.Errorf("got %q from %q, faults %v", got.Personal.Hostname, got.From, got.Faults)
			}
		})
	}
}

func put(t *testing.T, root, file, text string) {
	t.Helper()
	file = filepath.Join(root, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestName(t *testing.T) {
	named := Found{From: "boot partition"}
	named.Personal.Hostname = "db1"
	mac := net.HardwareAddr{0x52, 0x54, 0, 0xaa, 0xbb, 0xcc}
	for _, c := range []struct {
		found      Found
		dhcp       string
		mac        net.HardwareAddr
		name, from string
	}{
		{named, "ip-10-0-0-1", mac, "db1", "boot partition"},
		{Found{}, "Ip-10-0-0-1.ec2.internal", mac, "ip-10-0-0-1.ec2.internal", "DHCP"},
		{Found{}, "not_a_name", mac, "grove-aabbcc", "MAC address"},
		{Found{}, "", mac, "grove-aabbcc", "MAC address"},
		{Found{}, "", nil, "grove", "no network"},
	} {
		if name, from := Name(c.found, c.dhcp, c.mac); name != c.name || from != c.from {
			t.Errorf("dhcp %q, mac %s: got %s from %s; want %s from %s", c.dhcp, c.mac, name, from, c.name, c.from)
		}
	}
}

func TestFilesOfEtc(t *testing.T) {
	address := netip.MustParseAddr("10.5.0.11")
	for got, want := range map[string]string{
		Hosts("", netip.Addr{}, nil):            "127.0.0.1 localhost\n::1 localhost\n",
		Hosts("db1", netip.Addr{}, nil):         "127.0.0.1 localhost\n::1 localhost\n127.0.1.1 db1\n",
		Hosts("db1.lab.internal", address, nil): "127.0.0.1 localhost\n::1 localhost\n10.5.0.11 db1.lab.internal db1\n",
		Hosts("db1.lab.internal", address, map[string]string{"db3": "10.5.0.13", "db2": "10.5.0.12", "db1": "10.5.0.99", "localhost": "10.5.0.99"}): "127.0.0.1 localhost\n" +
			"::1 localhost\n10.5.0.11 db1.lab.internal db1\n10.5.0.12 db2\n10.5.0.13 db3\n",
		Resolv(nil, nil): "",
		Resolv([]netip.Addr{address, address, address, address}, []string{"lab.internal", "x"}): strings.Repeat("nameserver 10.5.0.11\n", 3) + "search lab.internal x\n",
	} {
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
