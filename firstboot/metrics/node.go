package metrics

import (
	"regexp"
	"strconv"
	"strings"

	"grove/firstboot/counters"
	"grove/firstboot/facts/proc"
)

// system is processors, load and the kernel.
func (c *collector) system(to out) {
	stat := c.kernel.Stat()
	for _, cpu := range stat.CPUs {
		for at, mode := range []string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"} {
			to.counter("node_cpu_seconds_total", "Seconds the CPUs spent in each mode.", cpu.Value(at), "cpu", cpu.Name, "mode", mode)
		}
	}
	load := c.kernel.Load()
	for at, name := range []string{"node_load1", "node_load5", "node_load15"} {
		to.gauge(name, "Load average, over as many minutes.", load[at])
	}
	for name, m := range map[string]metric{
		"ctxt":          {"node_context_switches_total", "Context switches.", true},
		"intr":          {"node_intr_total", "Interrupts serviced.", true},
		"processes":     {"node_forks_total", "Forks.", true},
		"procs_running": {"node_procs_running", "Processes in runnable state.", false},
		"procs_blocked": {"node_procs_blocked", "Processes blocked waiting for I/O.", false},
		"btime":         {"node_boot_time_seconds", "Unix time of the last boot.", false},
	} {
		if n, has := stat.Counts[name]; has {
			m.send(to, n)
		}
	}
	to.gauge("node_time_seconds", "System time in seconds since the epoch.", float64(c.Now().UnixNano())/1e9)
	c.uname(to)
	for _, p := range []struct{ file, name, help string }{
		{"/proc/sys/fs/file-max", "node_filefd_maximum", "File descriptors: the most."}, {"/proc/sys/fs/file-nr", "node_filefd_allocated", "File descriptors in use."},
		{"/proc/sys/net/netfilter/nf_conntrack_count", "node_nf_conntrack_entries", "Connections that the firewall tracks."},
		{"/proc/sys/net/netfilter/nf_conntrack_max", "node_nf_conntrack_entries_limit", "Connections that the firewall can track."},
	} {
		if n, has := first(c.kernel.Line(p.file)); has {
			to.gauge(p.name, p.help, n)
		}
	}
}

type metric struct {
	name, help string
	grows      bool
}

func (m metric) send(to out, n float64, labels ...string) {
	if m.grows {
		to.counter(m.name, m.help, n, labels...)
	} else {
		to.gauge(m.name, m.help, n, labels...)
	}
}

// uname: the machine's name is in /proc since Linux 6.1 only.
func (c *collector) uname(to out) {
	labels := []string{}
	for _, f := range [][2]string{{"sysname", "ostype"}, {"release", "osrelease"}, {"version", "version"}, {"machine", "arch"}, {"nodename", "hostname"}, {"domainname", "domainname"}} {
		labels = append(labels, f[0], c.kernel.Line("/proc/sys/kernel/"+f[1]))
	}
	to.gauge("node_uname_info", "The kernel, as uname has it.", 1, labels...)
}

func first(line string) (float64, bool) {
	word, _, _ := strings.Cut(line, "\t")
	n, err := strconv.ParseFloat(word, 64)
	return n, err == nil
}

// events are those that node_exporter takes of /proc/vmstat, and protocols of /proc/net/{netstat,snmp} (its collectors vmstat and netstat, by their defaults).
var (
	events    = regexp.MustCompile(`^(oom_kill|pgpg|pswp|pg.*fault)`)
	protocols = regexp.MustCompile(`^(.*_(InErrors|InErrs)|Ip_Forwarding|IpExt_(InOctets|OutOctets)|Icmp_(InMsgs|OutMsgs)|TcpExt_(Listen.*|Syncookies.*|TCPSynRetrans|TCPTimeouts|TCPOFOQueue|TCPRcvQDrop)|Tcp_(ActiveOpens|InSegs|OutSegs|OutRsts|PassiveOpens|RetransSegs|CurrEstab)|Udp_(InDatagrams|OutDatagrams|NoPorts|RcvbufErrors|SndbufErrors))$`)
)

func (c *collector) memory(to out) {
	for name, n := range c.kernel.Memory() {
		unit := "_bytes"
		if strings.HasPrefix(name, "HugePages_") {
			unit = ""
		}
		to.gauge("node_memory_"+name+unit, "Memory information field "+name+".", n)
	}
	for name, n := range c.kernel.VM() {
		if events.MatchString(name) {
			to.untyped("node_vmstat_"+name, "/proc/vmstat information field "+name+".", n)
		}
	}
	for _, resource := range []string{"cpu", "memory", "io"} {
		some, full, there := c.kernel.Pressure(resource)
		if !there {
			continue
		}
		to.counter("node_pressure_"+resource+"_waiting_seconds_total", "Seconds that processes have waited for it.", some)
		if resource != "cpu" {
			to.counter("node_pressure_"+resource+"_stalled_seconds_total", "Seconds that no process could make progress for it.", full)
		}
	}
}

func (c *collector) protocols(to out) {
	for name, n := range c.kernel.Net() {
		if protocols.MatchString(name) {
			to.untyped("node_netstat_"+name, "Statistic "+name+".", n)
		}
	}
	for name, n := range c.kernel.Sockets() {
		to.gauge("node_sockstat_"+name, "Number of sockets: "+name+".", n)
	}
	for state, n := range c.kernel.Connections() {
		to.gauge("node_tcp_connection_states", "TCP connections by state.", float64(n), "state", state)
	}
}

// diskMetrics are by the places of a disk's values.
var diskMetrics = map[int]metric{
	counters.Reads:         {"node_disk_reads_completed_total", "Reads completed.", true},
	counters.ReadsMerged:   {"node_disk_reads_merged_total", "Reads merged.", true},
	counters.ReadBytes:     {"node_disk_read_bytes_total", "Bytes read.", true},
	counters.ReadSeconds:   {"node_disk_read_time_seconds_total", "Seconds spent by all reads.", true},
	counters.Writes:        {"node_disk_writes_completed_total", "Writes completed.", true},
	counters.WritesMerged:  {"node_disk_writes_merged_total", "Writes merged.", true},
	counters.WrittenBytes:  {"node_disk_written_bytes_total", "Bytes written.", true},
	counters.WriteSeconds:  {"node_disk_write_time_seconds_total", "Seconds spent by all writes.", true},
	counters.InFlight:      {"node_disk_io_now", "I/Os in progress.", false},
	counters.BusySeconds:   {"node_disk_io_time_seconds_total", "Seconds spent doing I/Os.", true},
	counters.WaitedSeconds: {"node_disk_io_time_weighted_seconds_total", "Weighted seconds spent doing I/Os.", true},
}

func (c *collector) disks(to out) {
	for _, d := range c.kernel.Disks() {
		for at, m := range diskMetrics {
			m.send(to, d.Value(at), "device", d.Name)
		}
	}
}

// filesystems are those of block devices, each where it was mounted last.
func (c *collector) filesystems(to out) {
	mounts, err := proc.Mounts(c.Root, nil)
	if err != nil {
		return // a node without /proc has no other figures either
	}
	by := map[string]proc.Mount{}
	for _, m := range mounts {
		by[m.Target] = m
	}
	for _, m := range by {
		use, err := c.Machine.Usage(c.Root + m.Target)
		if err != nil {
			to.gauge("node_filesystem_device_error", "Whether an error came of asking it.", 1, "device", m.Dev, "mountpoint", m.Target, "fstype", m.Type)
			continue
		}
		readOnly := strings.HasPrefix(m.Options+",", "ro,")
		for _, v := range []struct {
			name, help string
			n          float64
		}{
			{"size_bytes", "Filesystem size.", float64(use.Size)}, {"free_bytes", "Filesystem free space.", float64(use.Free)},
			{"avail_bytes", "Filesystem space available to others than root.", float64(use.Available)}, {"files", "Filesystem total file nodes.", float64(use.Files)},
			{"files_free", "Filesystem free file nodes.", float64(use.FilesFree)}, {"readonly", "Filesystem read-only status.", yes(readOnly)},
			{"device_error", "Whether an error came of asking it.", 0},
		} {
			to.gauge("node_filesystem_"+v.name, v.help, v.n, "device", m.Dev, "mountpoint", m.Target, "fstype", m.Type)
		}
	}
}
