package tuning

import (
	"slices"
	"strconv"

	"grove/internal/spec"
)

// The places of the advice.
const (
	notes    = "MongoDB's production notes"
	hugePage = "MongoDB's manual, transparent huge pages"
	ulimits  = "MongoDB's manual, UNIX ulimit settings"
	faq      = "MongoDB's manual, FAQ: diagnostics"
	s1       = "the EC2 article of 2015"
	s3       = "the tuning contest of 2013"
)

const thp = "/sys/kernel/mm/transparent_hugepage/"

func hugepage(file, want, source string) Value {
	return Value{Name: "transparent_hugepage/" + file, Path: thp + file, Want: want, Source: source}
}

// system is the manual's advice for the kernel. mongod warns at its start of those marked *.
func system(a About) []Value {
	var values []Value
	if since(a.Version, 8, 0) {
		defrag := "defer+madvise"
		if !since(a.Kernel, 4, 6) {
			defrag = "madvise" // the word is younger
		}
		values = append(values,
			hugepage("enabled", "always", hugePage+": the TCMalloc of 8.0 wants them"), // *
			hugepage("defrag", defrag, hugePage),                                       // *
			hugepage("khugepaged/max_ptes_none", "0", hugePage),                        // *
			sysctl("vm.overcommit_memory", "1", hugePage),
		)
	} else {
		values = append(values,
			hugepage("enabled", "never", hugePage+": before 8.0 they cost memory and time"), // *
			hugepage("defrag", "never", hugePage),                                           // *
			sysctl("vm.overcommit_memory", "0", notes+": 0 or 1"),                           // *, of 2
		)
	}
	most := "64000"
	if a.Arch == spec.ARMHF {
		most = "32768" // PID_MAX_LIMIT of 32 bits, include/linux/threads.h
	}
	return append(values,
		sysctl("vm.swappiness", "1", notes),                   // *, since 8.0
		atLeast(sysctl("vm.max_map_count", "131060", notes)),  // *, since 6.0: two for each connection that the limit of open files allows
		sysctl("vm.zone_reclaim_mode", "0", notes),            // *
		sysctl("net.ipv4.tcp_keepalive_time", "120", faq),     //
		sysctl("net.ipv4.tcp_retries2", "5", faq),             //
		atLeast(sysctl("fs.file-max", "98000", notes)),        //
		atLeast(sysctl("kernel.pid_max", most, notes)),        //
		atLeast(sysctl("kernel.threads-max", "64000", notes)), //
	)
}

// process is the manual's advice for mongod's own.
func process(a About) []Value {
	values := []Value{limit("nofile", "64000", ulimits), limit("nproc", "64000", ulimits), limit("memlock", "unlimited", ulimits)}
	if since(a.Version, 8, 0) && since(a.Kernel, 4, 18) {
		// glibc 2.35 and later registers restartable sequences for itself, and TCMalloc then can't: it falls back to caches of threads.
		values = append(values, Value{Name: "environment " + tunables, Path: "/proc/PID/environ", Want: "glibc.pthread.rseq=0", rule: environment,
			Source: "MongoDB's manual, TCMalloc: per-CPU caches"})
	}
	return values
}

const tunables = "GLIBC_TUNABLES"

// disks is the manual's advice for each layer under the data. 32 sectors are the most of its 8 to 32 for WiredTiger, and what it has for MMAPv1.
func disks(a About) (values []Value) {
	for _, d := range a.Devices {
		values = append(values, readAhead(d, 32, notes+": 8 to 32 sectors"))
		if scheduler := scheduler(d); scheduler != "" {
			values = append(values, Value{Name: d.Name + "/scheduler", Path: "/sys/block/" + d.Name + "/queue/scheduler", Want: scheduler, Source: notes})
		}
	}
	return values
}

// readAhead is told in sectors of 512 bytes and set in KiB.
func readAhead(d Device, sectors int, source string) Value {
	return Value{Name: d.Name + "/read_ahead_kb", Path: "/sys/block/" + d.Name + "/queue/read_ahead_kb", Want: strconv.Itoa(sectors / 2), Source: source}
}

// scheduler sorts the requests of a disk that turns and of no other; kernels before 5.0 have older words. "" when none of them is on offer.
func scheduler(d Device) string {
	wanted := []string{"none", "noop"}
	if d.Rotational && !d.Virtual {
		wanted = []string{"mq-deadline", "deadline"}
	}
	for _, w := range wanted {
		if slices.Contains(d.Schedulers, w) {
			return w
		}
	}
	return ""
}

// classic is what the two articles set, with their numbers, whatever the server is. Read-ahead is that of the array and of its members, or of the disk alone.
func classic(a About) []Value {
	values := []Value{
		hugepage("enabled", "never", s1),
		hugepage("defrag", "never", s1),
		sysctl("net.ipv4.tcp_keepalive_time", "300", s1),
		limit("nofile", "65536", s1),
		limit("nproc", "65536", s1),
		sysctl("net.ipv4.ip_local_port_range", "10000 65535", s3),
		sysctl("net.ipv4.tcp_fin_timeout", "10", s3),
		sysctl("net.ipv4.tcp_syncookies", "0", s3),
		{Name: "net.ipv4.tcp_tw_recycle", Path: "/proc/sys/net/ipv4/tcp_tw_recycle", Want: "1", Source: s3, rule: gone},
	}
	for _, d := range a.Devices {
		if d.Layer != "dm" {
			values = append(values, readAhead(d, 128, s1))
		}
	}
	return values
}
