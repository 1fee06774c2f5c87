package recorder

import (
	"encoding/json"
	"io"
	"math"
	"time"
)

// Point is what a plot needs of a sample.
type Point struct {
	Time    time.Time // set right
	Load    float32
	CPU     float32 // percent
	Used    float32 // MiB of memory
	Total   float32
	Swap    float32 // MiB
	Read    float32 // bytes a second of the disks
	Written float32
	In, Out float32 // bytes a second of the network
	Sockets float32

	boot   string
	clock  int64
	uptime float64
}

// day is how long the ring is.
const day = int(24 * time.Hour / every)

// remember puts a sample into the ring; it is called locked or before there are others.
func (r *Recorder) remember(s Sample) {
	p := Point{Load: float32(s.Load), CPU: float32(s.CPU), Used: float32(s.Memory.Used), Total: float32(s.Memory.Total), Swap: float32(s.Memory.Swap), boot: s.Boot, clock: s.Time, uptime: s.Uptime}
	if n := len(r.ring); n > 0 && r.ring[n-1].boot == s.Boot {
		p.boot = r.ring[n-1].boot // one string for all
	}
	p.Read, p.Written = sum(s.Disks)
	for _, n := range s.Net {
		p.In, p.Out = p.In+float32(n[0]), p.Out+float32(n[1])
	}
	for state, n := range s.Sockets {
		if state != "listen" {
			p.Sockets += float32(n)
		}
	}
	if len(r.ring) >= day {
		copy(r.ring, r.ring[1:])
		r.ring = r.ring[:len(r.ring)-1]
	}
	r.ring = append(r.ring, p)
}

// sum leaves out what lies on other disks: arrays and volumes would count twice.
func sum(disks map[string]Disk) (read, written float32) {
	for name, d := range disks {
		if !stacked(name) {
			read, written = read+float32(d.Read), written+float32(d.Written)
		}
	}
	return read, written
}

func stacked(name string) bool {
	return len(name) > 2 && (name[:2] == "md" || name[:2] == "dm")
}

// begins knows when boots began, by their names: the newest sample of a boot knows best, and of this one the clock as it is.
type begins map[string]float64

func (b begins) see(boot string, clock int64, uptime float64) { b[boot] = float64(clock) - uptime }

func (b begins) right(boot string, clock int64, uptime float64) int64 {
	begin, known := b[boot]
	if right := int64(math.Round(begin + uptime)); known && max(right-clock, clock-right) > 2 { // less is rounding, or the clock being slewed
		return right
	}
	return clock
}

func (r *Recorder) now(b begins) {
	b[r.boot] = float64(r.config.Now().UnixMilli())/1000 - r.config.Uptime()
}

// Points are those of the last 24 hours, the oldest first.
func (r *Recorder) Points() (points []Point) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := begins{}
	for _, p := range r.ring {
		b.see(p.boot, p.clock, p.uptime)
	}
	r.now(b)
	now := r.config.Now()
	for _, p := range r.ring {
		p.Time = time.Unix(b.right(p.boot, p.clock, p.uptime), 0)
		if age := now.Sub(p.Time); age >= -every && age <= 24*time.Hour {
			points = append(points, p)
		}
	}
	return points
}

// WriteJSON writes all samples as a list, with their times set right. It reads them twice, and holds one at a time.
func (r *Recorder) WriteJSON(w io.Writer) error {
	r.mu.Lock()
	kept := r.store // its files may go meanwhile, which is as if they had no lines
	kept.waiting = append([][]byte{}, r.store.waiting...)
	r.mu.Unlock()
	b, files := begins{}, kept.files()
	kept.each(files, func(s Sample) { b.see(s.Boot, s.Time, s.Uptime) })
	r.now(b)
	before := "[\n"
	var failed error
	kept.each(files, func(s Sample) {
		s.Time = b.right(s.Boot, s.Time, s.Uptime)
		data, err := json.Marshal(s)
		if err != nil || failed != nil {
			return
		}
		_, failed = w.Write(append([]byte(before), data...))
		before = ",\n"
	})
	if before == "[\n" {
		before = "["
	} else {
		before = "\n"
	}
	if failed == nil {
		_, failed = io.WriteString(w, before+"]\n")
	}
	return failed
}
