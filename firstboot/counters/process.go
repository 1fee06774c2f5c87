package counters

import (
	"os"
	"strconv"
	"strings"
)

// Stat is /proc/stat.
type Stat struct {
	CPUs   []Row // seconds: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice; the name is the number
	Counts Named // ctxt, btime, processes, procs_running, procs_blocked, intr
}

// Stat of the processors and of scheduling.
func (k Kernel) Stat() Stat { return parseStat(k.text("/proc/stat")) }

// Busy is how many seconds the processors worked, and how many there were in all.
func (s Stat) Busy() (busy, all float64) {
	const idle, iowait, guest = 3, 4, 8 // a guest's time is in user's already
	for _, c := range s.CPUs {
		for at, seconds := range c.Values[:min(len(c.Values), guest)] {
			if all += seconds; at != idle && at != iowait {
				busy += seconds
			}
		}
	}
	return busy, all
}

func parseStat(text string) Stat {
	s := Stat{Counts: Named{}}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] == "cpu" {
			continue
		}
		if number, cpu := strings.CutPrefix(words[0], "cpu"); cpu {
			s.CPUs = append(s.CPUs, Row{Name: number, Values: numbers(words[1:], ticks)})
		} else if n := numbers(words[1:2], 1); len(n) == 1 {
			s.Counts[words[0]] = n[0]
		}
	}
	return s
}

// Process is one of the machine's.
type Process struct {
	PID     int
	Name    string
	Start   uint64  // ticks since the kernel's start, by which it is told from a later one of its number
	Seconds float64 // of a processor
	RSS     float64 // bytes
}

// Processes are all. Those that end meanwhile are left out.
func (k Kernel) Processes() (all []Process) {
	entries, err := os.ReadDir(k.Root + "/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := parseProcess(k.text("/proc/" + e.Name() + "/stat")); ok {
			p.PID = pid
			all = append(all, p)
		}
	}
	return all
}

// parseProcess: `1 (init) S 0 ...`. The name may hold blanks and brackets, so it ends at the last one.
func parseProcess(text string) (p Process, ok bool) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return p, false
	}
	p.Name = text[open+1 : end]
	const utime, stime, start, rss = 14 - 3, 15 - 3, 22 - 3, 24 - 3 // places of proc(5), less the two before and the one that they begin with
	words := strings.Fields(text[end+1:])
	if len(words) <= rss {
		return p, false
	}
	used := numbers(words[utime:stime+1], ticks)
	pages := numbers(words[rss:rss+1], 1)
	began, err := strconv.ParseUint(words[start], 10, 64)
	if len(used) != 2 || len(pages) != 1 || err != nil {
		return p, false
	}
	p.Seconds, p.Start, p.RSS = used[0]+used[1], began, pages[0]*float64(os.Getpagesize())
	return p, true
}
