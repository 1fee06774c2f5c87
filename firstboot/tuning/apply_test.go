package tuning

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/firstboot/status"
	"grove/internal/host"
)

// plant writes files below a root.
func plant(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const limitsOf = `Limit                     Soft Limit           Hard Limit           Units
Max processes             %[1]d                %[1]d                processes
Max open files            %[1]d                %[2]d               files
Max locked memory         8388608              8388608              bytes
`

func TestApplyWritesOnlyWhatDiffersAndTellsOfAll(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{
		"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
		"sys/kernel/mm/transparent_hugepage/defrag":  "always defer defer+madvise madvise [never]\n",
		"proc/sys/net/ipv4/tcp_keepalive_time":       "7200\n",
		"proc/sys/net/ipv4/ip_local_port_range":      "10000\t65535\n",
		"proc/sys/net/ipv4/tcp_syncookies":           "1\n",
		"proc/sys/net/ipv4/tcp_tw_recycle":           "0\n",
		"proc/self/limits":                           fmt.Sprintf(limitsOf, 1024, 4096),
		"proc/100/limits":                            fmt.Sprintf(limitsOf, 65536, 65536),
	})
	// What is the same is not written: it can't be.
	if err := os.Chmod(root+"/proc/sys/net/ipv4/ip_local_port_range", 0o400); err != nil {
		t.Fatal(err)
	}
	values := Want(About{Profile: "classic-2015", Devices: []Device{{Name: "vdb", Layer: "disk"}}, Sysctl: map[string]string{"vm.none": "1"}})
	got := Apply(root, values, 0, nil)
	want := `transparent_hugepage/enabled: madvise, never: set
transparent_hugepage/defrag: never, never: same
net.ipv4.tcp_keepalive_time: 7200, 300: set
limit nofile: 1024/4096, : waits
limit nproc: 1024, : waits
net.ipv4.ip_local_port_range: 10000 65535, 10000 65535: same
net.ipv4.tcp_fin_timeout: , : absent
net.ipv4.tcp_syncookies: 1, 0: set
net.ipv4.tcp_tw_recycle: 0, 0: refused: not written: it drops connections from behind one address, which is why Linux 4.12 has it no more
vdb/read_ahead_kb: , : absent
vm.none: , : absent
`
	if diff := cmp.Diff(want, shown(got)); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	if diff := cmp.Diff([]string{"vm.none: want 1, but this kernel has no such setting"}, Problems(values, got)); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}

	if err := os.Remove(root + "/proc/sys/net/ipv4/tcp_tw_recycle"); err != nil {
		t.Fatal(err)
	}
	again := Apply(root, values, 100, got)
	want = strings.NewReplacer("limit nofile: 1024/4096, : waits", "limit nofile: 1024/4096, 65536: set", "limit nproc: 1024, : waits", "limit nproc: 1024, 65536: set",
		"tcp_tw_recycle: 0, 0: refused: not written: it drops connections from behind one address, which is why Linux 4.12 has it no more",
		"tcp_tw_recycle: , : absent: gone since Linux 4.12: it dropped connections from behind one address (commit 4396e46187ca)").Replace(want)
	if diff := cmp.Diff(want, shown(again)); diff != "" {
		t.Errorf("a second time what was found at first stands: want - got +\n%s", diff)
	}
}

func shown(tuned []status.Tuned) string {
	var b strings.Builder
	for _, v := range tuned {
		fmt.Fprintf(&b, "%s: %s, %s: %s", v.Name, v.Before, v.After, v.State)
		if v.Why != "" {
			fmt.Fprintf(&b, ": %s", v.Why)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestHigherValuesStay(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{"proc/sys/fs/file-max": "9223372036854775807\n", "proc/sys/vm/max_map_count": "65530\n", "proc/sys/kernel/pid_max": "32768"})
	values := []Value{atLeast(sysctl("fs.file-max", "98000", "")), atLeast(sysctl("vm.max_map_count", "131060", "")), atLeast(sysctl("kernel.pid_max", "32768", ""))}
	want := "fs.file-max: 9223372036854775807, 9223372036854775807: same\nvm.max_map_count: 65530, 131060: set\nkernel.pid_max: 32768, 32768: same\n"
	if diff := cmp.Diff(want, shown(Apply(root, values, 0, nil))); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestValueThatDoesNotTakeIsAProblem(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(root+"/proc/sys/vm", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/null", root+"/proc/sys/vm/swappiness"); err != nil {
		t.Fatal(err)
	}
	plant(t, root, map[string]string{"proc/100/limits": fmt.Sprintf(limitsOf, 1024, 4096), "proc/100/environ": "LANG=C\x00"})
	values := []Value{sysctl("vm.swappiness", "1", ""), limit("nofile", "64000", ""), {Name: "environment GLIBC_TUNABLES", Path: "/proc/PID/environ", Want: "glibc.pthread.rseq=0", rule: environment}}
	got := Problems(values, Apply(root, values, 100, nil))
	want := []string{`vm.swappiness: want 1, have "": the kernel took it and has another value`, `limit nofile: want 64000, have "1024/4096": mongod runs without it`,
		`environment GLIBC_TUNABLES: want glibc.pthread.rseq=0, have "": mongod runs without it`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestPresentReadsAndWritesNothing(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{"proc/sys/vm/swappiness": "60\n", "proc/sys/vm/max_map_count": "262144\n", "proc/100/limits": fmt.Sprintf(limitsOf, 64000, 64000), "proc/100/environ": "A=b\x00GLIBC_TUNABLES=glibc.pthread.rseq=0\x00"}
	plant(t, root, files)
	tuned := []status.Tuned{{Name: "vm.swappiness", Path: "/proc/sys/vm/swappiness", Want: "1"}, {Name: "vm.max_map_count", Path: "/proc/sys/vm/max_map_count", Want: "131060", AtLeast: true},
		{Name: "vm.none", Path: "/proc/sys/vm/none", Want: "1"}, {Name: "limit nofile", Want: "64000"}, {Name: "environment GLIBC_TUNABLES", Want: "glibc.pthread.rseq=0"}}
	want := "vm.swappiness: , 60: refused\nvm.max_map_count: , 262144: same\nvm.none: , : absent\nlimit nofile: , 64000: same\nenvironment GLIBC_TUNABLES: , glibc.pthread.rseq=0: same\n"
	if diff := cmp.Diff(want, shown(Present(root, tuned, 100))); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	for name, text := range files {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != text {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestWhatMongodIsStartedWith(t *testing.T) {
	limits, env := Start(Want(About{Profile: "mongodb", Version: "8.0.11", Kernel: "6.12.48"}))
	if diff := cmp.Diff([]host.Limit{{Resource: "nofile", Value: 64000}, {Resource: "nproc", Value: 64000}, {Resource: "memlock", Value: -1}}, limits); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	if diff := cmp.Diff([]string{"GLIBC_TUNABLES=glibc.pthread.rseq=0"}, env); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestDevicesUnderTheData(t *testing.T) {
	root := t.TempDir()
	plant(t, root, map[string]string{
		"proc/self/mountinfo": "30 1 254:5 / /state rw - ext4 /dev/vda5 rw\n31 1 253:0 / /data rw - xfs /dev/grove/data rw\n32 1 253:1 / /log rw - xfs /dev/grove/log rw\n",
		"sys/devices/vda/dev": "254:0", "sys/devices/vda/vda5/dev": "254:5", "sys/devices/vda/vda5/partition": "5", "sys/devices/vda/queue/scheduler": "[none] mq-deadline\n", "sys/devices/vda/queue/rotational": "1\n",
		"sys/devices/dm-0/dev": "253:0", "sys/devices/dm-0/slaves/md127/x": "", "sys/devices/dm-0/queue/rotational": "0\n", "sys/devices/dm-1/dev": "253:1", "sys/devices/dm-1/slaves/md127/x": "",
		"sys/devices/md127/dev": "9:127", "sys/devices/md127/slaves/sdb/x": "", "sys/devices/md127/slaves/sda1/x": "", "sys/devices/md127/queue/scheduler": "none\n",
		"sys/devices/sdb/dev": "8:16", "sys/devices/sdb/queue/scheduler": "none [mq-deadline]\n", "sys/devices/sda/dev": "8:0", "sys/devices/sda/queue/rotational": "1\n",
		"sys/devices/sda/sda1/dev": "8:1", "sys/devices/sda/sda1/partition": "1",
	})
	for _, folder := range []string{"sys/class/block", "sys/block"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, dir := range map[string]string{"vda": "vda", "vda5": "vda/vda5", "dm-0": "dm-0", "dm-1": "dm-1", "md127": "md127", "sdb": "sdb", "sda": "sda", "sda1": "sda/sda1"} {
		for _, folder := range []string{"sys/class/block", "sys/block"} {
			if folder == "sys/block" && strings.Contains(dir, "/") {
				continue
			}
			if err := os.Symlink(root+"/sys/devices/"+dir, filepath.Join(root, folder, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		mounts []string
		want   []Device
	}{
		{"volumes of an array", []string{"/data", "/log"}, []Device{{Name: "sda", Layer: "disk", Rotational: true}, {Name: "sdb", Layer: "disk", Schedulers: []string{"none", "mq-deadline"}},
			{Name: "dm-0", Layer: "dm"}, {Name: "dm-1", Layer: "dm"}, {Name: "md127", Layer: "md"}}},
		{"a partition of the medium", []string{"/state"}, []Device{{Name: "vda", Layer: "disk", Rotational: true, Virtual: true, Schedulers: []string{"none", "mq-deadline"}}}},
		{"nothing is mounted", []string{"/nowhere"}, nil},
	} {
		got, err := Devices(root, c.mounts)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, want - got +\n%s", c.name, err, diff)
		}
	}
	if _, err := Devices(t.TempDir(), []string{"/data"}); err == nil {
		t.Error("without /proc: want an error")
	}
}
