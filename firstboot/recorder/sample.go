package recorder

import (
	"cmp"
	"math"
	"slices"

	"grove/firstboot/counters"
)

// Sample is what a node did during a minute. Rates are a second's; bytes are whole, percentages are of all processors but for a process's, which are of one.
type Sample struct {
	Time    int64               `json:"t"` // Unix, by the clock as it was
	Uptime  float64             `json:"up"`
	Boot    string              `json:"boot"` // the first digits of the kernel's random name for it
	Load    float64             `json:"load"` // of one minute
	CPU     float64             `json:"cpu"`  // percent
	Memory  Memory              `json:"mem"`
	Disks   map[string]Disk     `json:"disk,omitempty"`
	Net     map[string][2]int64 `json:"net,omitempty"` // received and sent bytes a second
	Sockets map[string]int      `json:"tcp,omitempty"` // by state
	Top     []Top               `json:"top,omitempty"` // the busiest processes
}

// Memory in MiB.
type Memory struct {
	Used  int `json:"used"` // what could not be had at once
	Total int `json:"total"`
	Dirty int `json:"dirty,omitempty"`
	Swap  int `json:"swap,omitempty"` // in use
}

// Disk is bytes a second and for how much of the time it was busy, in percent.
type Disk struct {
	Read    int64 `json:"r"`
	Written int64 `json:"w"`
	Busy    int64 `json:"b"`
}

// Top is a process: its share of one processor in percent, and its memory in MiB.
type Top struct {
	Name string  `json:"n"`
	PID  int     `json:"pid"`
	CPU  float64 `json:"cpu"`
	RSS  int     `json:"rss"`
}

// The most of each that a sample has, so that none is longer than 2 KiB.
const (
	mostDisks = 10
	mostLinks = 4
	mostTop   = 5
)

// looker makes rates of counters that it has seen before.
type looker struct {
	uptime    float64
	busy, all float64
	disks     map[string]counters.Row
	links     map[string]counters.Row
	processes map[int]counters.Process
}

// first looks at the counters that the first sample is reckoned from.
func (l *looker) first(k counters.Kernel, uptime float64) { l.sample(k, uptime) }

func (l *looker) sample(k counters.Kernel, uptime float64) Sample {
	last := *l
	now := looker{uptime: uptime, disks: byName(k.Disks()), links: byName(k.Links()), processes: map[int]counters.Process{}}
	now.busy, now.all = k.Stat().Busy()
	for _, p := range k.Processes() {
		now.processes[p.PID] = p
	}
	*l = now
	took := uptime - last.uptime
	s := Sample{Uptime: round(uptime, 10), Load: k.Load()[0], CPU: round(100*ratio(now.busy-last.busy, now.all-last.all), 10), Memory: memory(k.Memory()), Sockets: k.Connections(),
		Disks: map[string]Disk{}, Net: map[string][2]int64{}, Top: top(last.processes, now.processes, took)}
	for _, name := range busiest(now.disks, mostDisks) {
		if before, known := last.disks[name]; known {
			rate := func(at int) float64 { return ratio(now.disks[name].Value(at)-before.Value(at), took) }
			s.Disks[name] = Disk{int64(rate(counters.ReadBytes)), int64(rate(counters.WrittenBytes)), int64(min(100, 100*rate(counters.BusySeconds)))}
		}
	}
	for _, name := range busiest(now.links, mostLinks) {
		const received, sent = 0, 8
		if before, known := last.links[name]; known {
			s.Net[name] = [2]int64{int64(ratio(now.links[name].Value(received)-before.Value(received), took)), int64(ratio(now.links[name].Value(sent)-before.Value(sent), took))}
		}
	}
	return s
}

// ratio is 0 where a counter has begun anew, or no time has passed.
func ratio(of, to float64) float64 {
	if of <= 0 || to <= 0 {
		return 0
	}
	return of / to
}

func round(f, parts float64) float64 { return math.Round(f*parts) / parts }

func memory(m counters.Named) Memory {
	const mib = 1 << 20
	free, has := m["MemAvailable"]
	if !has { // before Linux 3.14
		free = m["MemFree"] + m["Buffers"] + m["Cached"]
	}
	return Memory{Used: int((m["MemTotal"] - free) / mib), Total: int(m["MemTotal"] / mib), Dirty: int(m["Dirty"] / mib), Swap: int((m["SwapTotal"] - m["SwapFree"]) / mib)}
}

// byName leaves the loopback interface out, which is no network.
func byName(rows []counters.Row) map[string]counters.Row {
	all := map[string]counters.Row{}
	for _, r := range rows {
		if r.Name != "lo" {
			all[r.Name] = r
		}
	}
	return all
}

// busiest are the names of those that did the most since the kernel's start, so that it is always the same ones, without those that never did anything.
func busiest(rows map[string]counters.Row, most int) (names []string) {
	sum := func(name string) (n float64) {
		for _, at := range []int{0, counters.ReadBytes, counters.WrittenBytes, 8} { // of an interface 0 and 8 are bytes
			n += rows[name].Value(at)
		}
		return n
	}
	for name := range rows {
		if sum(name) > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(sum(b), sum(a)), cmp.Compare(a, b)) })
	return names[:min(len(names), most)]
}

// top are the processes that have used the most of a processor since the last look.
func top(last, now map[int]counters.Process, took float64) (all []Top) {
	for pid, p := range now {
		used := p.Seconds
		if before, known := last[pid]; known && before.Start == p.Start {
			used -= before.Seconds
		}
		if share := round(100*ratio(used, took), 10); share > 0 {
			all = append(all, Top{cut(p.Name), pid, share, int(p.RSS / (1 << 20))})
		}
	}
	slices.SortFunc(all, func(a, b Top) int { return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.PID, b.PID)) })
	return all[:min(len(all), mostTop)]
}

// cut is a name of at most what the kernel has of most (TASK_COMM_LEN); workers of its own have longer ones.
func cut(name string) string {
	return name[:min(len(name), 15)]
}
