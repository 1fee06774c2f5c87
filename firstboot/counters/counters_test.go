package counters

import (
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var recorded = Kernel{Root: "testdata"}

func TestRecordedKernelIsRead(t *testing.T) {
	memory := recorded.Memory()
	for name, want := range map[string]bool{"MemTotal": true, "Active_anon": true, "HugePages_Total": true, "Active(anon)": false, "": false} {
		if _, got := memory[name]; got != want {
			t.Errorf("memory has %q: %v; want %v", name, got, want)
		}
	}
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"load", recorded.Load(), [3]float64{0.52, 0.31, 0.12}},
		{"a page's size is in bytes", memory["Hugepagesize"], 2048.0 * 1024},
		{"events of the memory", recorded.VM(), Named{"nr_free_pages": 12345, "pgpgin": 99, "oom_kill": 0}},
		{"sockets of both families", recorded.Sockets(), Named{"sockets_used": 150, "TCP_inuse": 5, "TCP_orphan": 0, "TCP_tw": 1, "TCP_alloc": 9, "TCP_mem": 2, "TCP6_inuse": 3}},
		{"protocols", recorded.Net(), Named{"Ip_Forwarding": 2, "Ip_DefaultTTL": 64, "Ip_InReceives": 1000, "Tcp_RtoAlgorithm": 1, "Tcp_RtoMin": 200, "Tcp_RtoMax": 120000, "Tcp_MaxConn": -1,
			"Tcp_ActiveOpens": 12, "Tcp_PassiveOpens": 34, "Tcp_CurrEstab": 5, "Tcp_RetransSegs": 6, "TcpExt_SyncookiesSent": 1, "TcpExt_ListenOverflows": 2, "TcpExt_ListenDrops": 3, "IpExt_InOctets": 99}},
		{"connections of both families", recorded.Connections(), map[string]int{"listen": 2, "established": 1, "time_wait": 1}},
		{"links", recorded.Links(), []Row{{"lo", []float64{601984460, 194562, 0, 0, 0, 0, 0, 0, 601984460, 194562, 0, 0, 0, 0, 0, 0}},
			{"eth0", []float64{4123456789, 3123456, 1, 2, 3, 4, 5, 6, 1123456789, 2123456, 7, 8, 9, 10, 11, 12}}}},
		{"processes", recorded.Processes(), []Process{{1, "init", 5, 0.53, 500 * float64(os.Getpagesize())}, {812, "a b) c", 700, 12.5, 2000 * float64(os.Getpagesize())}}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: want - got +\n%s", c.what, diff)
		}
	}
}

func TestDisksAreWhole(t *testing.T) {
	var names []string
	for _, d := range recorded.Disks() {
		names = append(names, d.Name)
	}
	if diff := cmp.Diff([]string{"vda", "xvdb", "nvme0n1", "nvme0n10", "mmcblk0", "md127", "dm-1", "dm-10"}, names); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	want := Row{"vda", []float64{1000, 20, 8000 * 512, 1.5, 300, 40, 6400 * 512, 2.5, 2, 3, 4}}
	if diff := cmp.Diff(want, recorded.Disks()[0]); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	if got := want.Value(BusySeconds) + want.Value(99); got != 3 {
		t.Errorf("got %v", got)
	}
}

func TestProcessorsAreBusyAndIdle(t *testing.T) {
	s := recorded.Stat()
	if busy, all := s.Busy(); math.Round(busy*100) != 33942 || math.Round(all*100) != 938242 {
		t.Errorf("got %v busy of %v", busy, all)
	}
	if s.CPUs[1].Name != "1" || s.CPUs[1].Value(4) != 21 || s.Counts["btime"] != 1764568440 || s.Counts["intr"] != 8123456 {
		t.Errorf("got %+v", s)
	}
}

func TestPressureIsInSeconds(t *testing.T) {
	for resource, want := range map[string][2]float64{"io": {1.5, 0.25}, "cpu": {0.000042, 0}} {
		if some, full, there := recorded.Pressure(resource); !there || some != want[0] || full != want[1] {
			t.Errorf("%s: got %v, %v, %v", resource, some, full, there)
		}
	}
	if _, _, there := recorded.Pressure("memory"); there {
		t.Error("there is none of memory")
	}
}

// A kernel without these files, and files of another form, are nothing read and no fault.
func TestWhatIsNotThereIsNothing(t *testing.T) {
	none := Kernel{Root: t.TempDir()}
	if n := len(none.Memory()) + len(none.VM()) + len(none.Net()) + len(none.Sockets()) + len(none.Disks()) + len(none.Links()) + len(none.Connections()) + len(none.Processes()) +
		len(none.Stat().CPUs); n != 0 || none.Load() != [3]float64{} || none.Line("/proc/x") != "" {
		t.Errorf("%d things are read of nothing", n)
	}
	for _, text := range []string{"", "x", ":", "cpu", "cpu0", "1 (", "1 )(", "a b c d e f g h i j k l m n", "Tcp: a b\nTcp: x y", "Tcp: a b c\nTcp: 1", "some total=x", "9 (x) S 1 2"} {
		parseMemory(text)
		parseNamed(text)
		parseSockstat(text)
		parsePairs(text)
		parseDisks(text)
		parseLinks(text)
		parseStat(text)
		if _, _, there := parsePressure(text); there {
			t.Errorf("%q is a pressure", text)
		}
		if _, ok := parseProcess(text); ok {
			t.Errorf("%q is a process", text)
		}
	}
}

// This machine's own kernel has a form that is understood.
func TestKernelOfThisMachine(t *testing.T) {
	var k Kernel
	if k.Memory()["MemTotal"] == 0 || len(k.Stat().CPUs) == 0 || len(k.Links()) == 0 || len(k.Processes()) == 0 || len(k.Net()) < 50 || k.VM()["pgfault"] == 0 {
		t.Error("something is not read")
	}
}
