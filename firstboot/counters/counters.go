// Package counters reads what the kernel counts, out of the text of /proc and /sys (proc(5), Documentation/filesystems/proc.rst), in bytes and seconds where the kernel
// has pages, sectors, ticks or KiB. It keeps nothing and judges nothing: rates are for who looks twice.
//
// What this kernel does not have is nothing read and no error; a file of another form than the manual's gives what of it is understood.
package counters

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Kernel is where to read. Root stands before /proc and /sys, empty but in tests.
type Kernel struct{ Root string }

// Named are single numbers by the kernel's names.
type Named map[string]float64

// Row is a line of numbers about one thing: a disk, an interface, a processor.
type Row struct {
	Name   string
	Values []float64 // in the kernel's order
}

// Value is the number at a place, 0 where the kernel has none.
func (r Row) Value(at int) float64 {
	if at < len(r.Values) {
		return r.Values[at]
	}
	return 0
}

// The units of /proc that do not depend on the machine: USER_HZ of asm-generic/param.h and the sector of block/genhd.c.
const (
	ticks  = 100
	sector = 512
)

func (k Kernel) text(path string) string {
	data, err := os.ReadFile(k.Root + path)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

// Line is a file of one line, "" if it is not there.
func (k Kernel) Line(path string) string { return strings.TrimSpace(k.text(path)) }

// Load is how many processes ran or waited for a disk, over 1, 5 and 15 minutes.
func (k Kernel) Load() (load [3]float64) {
	copy(load[:], numbers(strings.Fields(k.text("/proc/loadavg")), 1))
	return load
}

// Memory is in bytes; names are those of /proc/meminfo, where Active(anon) is Active_anon.
func (k Kernel) Memory() Named { return parseMemory(k.text("/proc/meminfo")) }

// VM counts events of the memory management.
func (k Kernel) VM() Named { return parseNamed(k.text("/proc/vmstat")) }

// Sockets are counts by protocol: TCP_inuse.
func (k Kernel) Sockets() Named {
	all := parseSockstat(k.text("/proc/net/sockstat"))
	for name, n := range parseSockstat(k.text("/proc/net/sockstat6")) {
		all[name] = n
	}
	return all
}

// Net counts events of the protocols: Tcp_RetransSegs, TcpExt_ListenDrops.
func (k Kernel) Net() Named {
	all := parsePairs(k.text("/proc/net/snmp"))
	for name, n := range parsePairs(k.text("/proc/net/netstat")) {
		all[name] = n
	}
	return all
}

// Disks are whole disks and arrays; for the places of Values see DiskFields.
func (k Kernel) Disks() []Row { return parseDisks(k.text("/proc/diskstats")) }

// Links are the interfaces; the values are 8 of what was received and 8 of what was sent: bytes, packets, errors, drops, fifo, frame or collisions, ...
func (k Kernel) Links() []Row { return parseLinks(k.text("/proc/net/dev")) }

// Pressure is for how many seconds some, or all, of the processes waited for a resource: cpu, memory, io. there says that this kernel counts it.
func (k Kernel) Pressure(resource string) (some, full float64, there bool) {
	return parsePressure(k.text("/proc/pressure/" + resource))
}

// Connections are TCP's by state. The kernel's lists may be long, so they are read line by line.
func (k Kernel) Connections() map[string]int {
	states := map[string]int{}
	for _, name := range []string{"tcp", "tcp6"} {
		if f, err := os.Open(filepath.Join(k.Root, "/proc/net", name)); err == nil {
			countStates(f, states)
			f.Close()
		}
	}
	return states
}

// states are by their numbers of net/tcp_states.h.
var states = map[string]string{"01": "established", "02": "syn_sent", "03": "syn_recv", "04": "fin_wait1", "05": "fin_wait2", "06": "time_wait", "07": "close",
	"08": "close_wait", "09": "last_ack", "0A": "listen", "0B": "closing", "0C": "syn_recv"}

func countStates(r io.Reader, into map[string]int) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) > 3 && states[words[3]] != "" {
			into[states[words[3]]]++
		}
	}
}

// numbers reads words as numbers until one is none, each divided by a unit.
func numbers(words []string, unit float64) (all []float64) {
	for _, w := range words {
		n, err := strconv.ParseFloat(w, 64)
		if err != nil {
			break
		}
		all = append(all, n/unit)
	}
	return all
}
