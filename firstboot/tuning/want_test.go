package tuning

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/spec"
)

// said lists values as `name want`, `name >=want`.
func said(values []Value) string {
	var b strings.Builder
	for _, v := range values {
		sign := map[rule]string{least: ">=", gone: "never "}[v.rule]
		fmt.Fprintf(&b, "%s %s%s\n", v.Name, sign, v.Want)
	}
	return b.String()
}

const before8 = `transparent_hugepage/enabled never
transparent_hugepage/defrag never
vm.overcommit_memory 0
`

const with8 = `transparent_hugepage/enabled always
transparent_hugepage/defrag defer+madvise
transparent_hugepage/khugepaged/max_ptes_none 0
vm.overcommit_memory 1
`

const always = `vm.swappiness 1
vm.max_map_count >=131060
vm.zone_reclaim_mode 0
net.ipv4.tcp_keepalive_time 120
net.ipv4.tcp_retries2 5
fs.file-max >=98000
kernel.pid_max >=64000
kernel.threads-max >=64000
limit nofile 64000
limit nproc 64000
limit memlock unlimited
`

const rseq = "environment GLIBC_TUNABLES glibc.pthread.rseq=0\n"

func TestWant(t *testing.T) {
	array := []Device{{Name: "dm-0", Layer: "dm", Rotational: true}, {Name: "md127", Layer: "md", Rotational: true},
		{Name: "sda", Layer: "disk", Rotational: true, Schedulers: []string{"mq-deadline", "none"}}, {Name: "nvme0n1", Layer: "disk", Schedulers: []string{"none", "mq-deadline", "kyber"}}}
	for _, c := range []struct {
		name  string
		about About
		want  string
	}{
		{"6.0 on amd64", About{Profile: "mongodb", Version: "6.0.5", Arch: spec.AMD64, Kernel: "6.12.48-cloud-amd64"}, before8 + always},
		{"8.0 on amd64", About{Profile: "mongodb", Version: "8.0.11", Arch: spec.AMD64, Kernel: "6.12.48-cloud-amd64"}, with8 + always + rseq},
		{"8.2 on arm64", About{Profile: "mongodb", Version: "8.2.6", Arch: spec.ARM64, Kernel: "6.1.0-40-arm64"}, with8 + always + rseq},
		{"8.0 on a kernel that is too old for per-CPU caches", About{Profile: "mongodb", Version: "8.0.11", Arch: spec.AMD64, Kernel: "4.9.0"}, with8 + always},
		{"a kernel before 4.6 has no defer+madvise", About{Profile: "mongodb", Version: "8.0.11", Arch: spec.AMD64, Kernel: "4.4.0"}, strings.Replace(with8, "defer+madvise", "madvise", 1) + always},
		{"3.2 on 32 bits, whose process numbers end at 32768", About{Profile: "mongodb", Version: "3.2.22", Arch: spec.ARMHF, Kernel: "6.12.48-armmp"},
			before8 + strings.Replace(always, "pid_max >=64000", "pid_max >=32768", 1)},
		{"every layer under the data", About{Profile: "mongodb", Version: "6.0.5", Devices: array}, before8 + always + `dm-0/read_ahead_kb 16
md127/read_ahead_kb 16
sda/read_ahead_kb 16
sda/scheduler mq-deadline
nvme0n1/read_ahead_kb 16
nvme0n1/scheduler none
`},
		{"virtual disks and kernels before 5.0", About{Profile: "mongodb", Version: "6.0.5", Devices: []Device{{Name: "vdb", Layer: "disk", Rotational: true, Virtual: true, Schedulers: []string{"none", "mq-deadline"}},
			{Name: "sda", Layer: "disk", Rotational: true, Schedulers: []string{"noop", "deadline", "cfq"}}, {Name: "mmcblk0", Layer: "disk", Schedulers: []string{"bfq"}}}}, before8 + always + `vdb/read_ahead_kb 16
vdb/scheduler none
sda/read_ahead_kb 16
sda/scheduler deadline
mmcblk0/read_ahead_kb 16
`},
		{"the two articles, whatever the server", About{Profile: "classic-2015", Version: "8.0.11", Kernel: "6.12.48", Devices: array}, `transparent_hugepage/enabled never
transparent_hugepage/defrag never
net.ipv4.tcp_keepalive_time 300
limit nofile 65536
limit nproc 65536
net.ipv4.ip_local_port_range 10000 65535
net.ipv4.tcp_fin_timeout 10
net.ipv4.tcp_syncookies 0
net.ipv4.tcp_tw_recycle never 1
md127/read_ahead_kb 64
sda/read_ahead_kb 64
nvme0n1/read_ahead_kb 64
`},
		{"nothing", About{Profile: "none", Version: "6.0.5", Devices: array}, ""},
		{"one's own over nothing", About{Profile: "none", Sysctl: map[string]string{"vm.swappiness": "0", "net.core.somaxconn": "4096"}}, "net.core.somaxconn 4096\nvm.swappiness 0\n"},
		{"one's own over a profile", About{Profile: "mongodb", Version: "6.0.5", Sysctl: map[string]string{"vm.max_map_count": "262144"}}, before8 + strings.Replace(always, ">=131060", "262144", 1)},
	} {
		if diff := cmp.Diff(c.want, said(Want(c.about))); diff != "" {
			t.Errorf("%s: want - got +\n%s", c.name, diff)
		}
	}
}

func TestDiffers(t *testing.T) {
	if got := Differs(About{Profile: "mongodb", Version: "6.0.5"}); got != nil {
		t.Errorf("got %q", got)
	}
	got := strings.Join(Differs(About{Profile: "classic-2015", Version: "6.0.5", Devices: []Device{{Name: "vdb"}}}), "\n")
	want := `vm.overcommit_memory is left as it is; profile mongodb wants 0
vm.swappiness is left as it is; profile mongodb wants 1
vm.max_map_count is left as it is; profile mongodb wants 131060
vm.zone_reclaim_mode is left as it is; profile mongodb wants 0
net.ipv4.tcp_keepalive_time is 300; profile mongodb wants 120
net.ipv4.tcp_retries2 is left as it is; profile mongodb wants 5
fs.file-max is left as it is; profile mongodb wants 98000
kernel.pid_max is left as it is; profile mongodb wants 64000
kernel.threads-max is left as it is; profile mongodb wants 64000
limit nofile is 65536; profile mongodb wants 64000
limit nproc is 65536; profile mongodb wants 64000
limit memlock is left as it is; profile mongodb wants unlimited`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestNamesOfSysctl(t *testing.T) {
	for name, want := range map[string]string{"vm.swappiness": "/proc/sys/vm/swappiness", "net.ipv4.conf.eth0/1.rp_filter": "/proc/sys/net/ipv4/conf/eth0.1/rp_filter",
		"net/ipv4/conf/eth0.1/rp_filter": "/proc/sys/net/ipv4/conf/eth0.1/rp_filter"} {
		if got := sysctl(name, "1", "").Path; got != want {
			t.Errorf("%s: got %s; want %s", name, got, want)
		}
	}
}
