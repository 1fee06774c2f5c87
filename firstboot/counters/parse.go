package counters

import "strings"

// parseMemory: `MemTotal:       24684236 kB`, `HugePages_Total:       0`.
func parseMemory(text string) Named {
	all := Named{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(rest)
		n := numbers(words, 1)
		if len(n) == 0 {
			continue
		}
		if len(words) > 1 && words[1] == "kB" {
			n[0] *= 1024
		}
		all[strings.TrimSuffix(strings.ReplaceAll(name, "(", "_"), ")")] = n[0]
	}
	return all
}

// parseNamed: `pgfault 1234`.
func parseNamed(text string) Named {
	all := Named{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 2 {
			if n := numbers(words[1:], 1); len(n) == 1 {
				all[words[0]] = n[0]
			}
		}
	}
	return all
}

// parseSockstat: `TCP: inuse 5 orphan 0 tw 1`.
func parseSockstat(text string) Named {
	all := Named{}
	for line := range strings.Lines(text) {
		protocol, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(rest)
		for i := 0; i+1 < len(words); i += 2 {
			if n := numbers(words[i+1:i+2], 1); len(n) == 1 {
				all[protocol+"_"+words[i]] = n[0]
			}
		}
	}
	return all
}

// parsePairs reads two lines for each protocol, one of names and one of numbers: `Tcp: InSegs OutSegs` and `Tcp: 12 13`.
func parsePairs(text string) Named {
	all := Named{}
	lines := strings.Split(text, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		protocol, names, _ := strings.Cut(lines[i], ":")
		same, values, _ := strings.Cut(lines[i+1], ":")
		if protocol != same {
			continue
		}
		found := numbers(strings.Fields(values), 1)
		for at, name := range strings.Fields(names) {
			if at < len(found) {
				all[protocol+"_"+name] = found[at]
			}
		}
	}
	return all
}

// DiskFields are the places of a disk's values, in bytes and seconds.
const (
	Reads = iota
	ReadsMerged
	ReadBytes
	ReadSeconds
	Writes
	WritesMerged
	WrittenBytes
	WriteSeconds
	InFlight
	BusySeconds
	WaitedSeconds
)

// units are what the kernel's numbers are divided by (Documentation/admin-guide/iostats.rst): times are in ms.
var units = map[int]float64{ReadBytes: 1.0 / sector, ReadSeconds: 1000, WrittenBytes: 1.0 / sector, WriteSeconds: 1000, BusySeconds: 1000, WaitedSeconds: 1000}

// parseDisks: ` 254       0 vda 98312 1234 9871234 ...`. Partitions are parts of their disk, and loop and RAM disks are none.
func parseDisks(text string) (all []Row) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 14 || partition(words[2], all) || hasPrefix(words[2], "loop", "ram", "zram", "fd", "sr", "nbd") {
			continue
		}
		row := Row{Name: words[2], Values: numbers(words[3:14], 1)}
		for at, unit := range units {
			if at < len(row.Values) {
				row.Values[at] /= unit
			}
		}
		all = append(all, row)
	}
	return all
}

// partition tells it by its disk, which the kernel lists before it: sda1, nvme0n1p1, mmcblk0p1. mmcblk0boot0 is as little a disk of anybody's.
func partition(name string, before []Row) bool {
	for _, disk := range before {
		rest, of := strings.CutPrefix(name, disk.Name)
		if !of || rest == "" {
			continue
		}
		if last := disk.Name[len(disk.Name)-1]; last >= '0' && last <= '9' && rest[0] >= '0' && rest[0] <= '9' {
			continue // dm-1 and dm-10
		}
		if strings.HasPrefix(rest, "boot") || strings.HasPrefix(rest, "rpmb") || strings.Trim(strings.TrimPrefix(rest, "p"), "0123456789") == "" {
			return true
		}
	}
	return false
}

// parseLinks: `  eth0: 1234 12 0 0 0 0 0 0 4321 21 ...`, after two lines of headings.
func parseLinks(text string) (all []Row) {
	for line := range strings.Lines(text) {
		if name, rest, found := strings.Cut(line, ":"); found {
			all = append(all, Row{Name: strings.TrimSpace(name), Values: numbers(strings.Fields(rest), 1)})
		}
	}
	return all
}

// parsePressure: `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`, in µs.
func parsePressure(text string) (some, full float64, there bool) {
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(line, " ")
		_, total, found := strings.Cut(strings.TrimSpace(rest), "total=")
		n := numbers([]string{total}, 1e6)
		if !found || len(n) == 0 {
			continue
		}
		switch there = true; kind {
		case "some":
			some = n[0]
		case "full":
			full = n[0]
		}
	}
	return some, full, there
}

func hasPrefix(name string, list ...string) bool {
	for _, p := range list {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
