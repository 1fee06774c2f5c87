package boot

import (
	"fmt"
	"math"
	"strings"
	"time"

	"grove/internal/spec"
)

// Times are the marks of one boot, each since QEMU's start; 0 means not reached.
type Times struct {
	Kernel time.Duration `json:"kernel"` // the kernel's clock started
	Init   time.Duration `json:"init"`   // PID 1 spoke
	Mongod time.Duration `json:"mongod"` // the node first spoke of mongod
	Answer time.Duration `json:"answer"` // mongod answered a ping from outside
}

// with adds what a console line tells that came at this time. A quiet kernel says nothing itself: its start is the time of the first line less the uptime in it.
func (t Times) with(at time.Duration, line spec.Line) Times {
	if t.Kernel == 0 {
		t.Kernel = max(at-time.Duration(math.Round(line.Uptime*100))*10*time.Millisecond, 0)
	}
	if t.Init == 0 {
		t.Init = at
	}
	if t.Mongod == 0 && line.Topic == "mongod" {
		t.Mongod = at
	}
	return t
}

// String is where the time went: `18.2 s: 7.9 firmware and boot loader, 4.1 kernel, 1.0 init, 5.2 mongod`. A mark that was not reached is left out, and its time
// counts with the next one.
func (t Times) String() string {
	var parts []string
	var before time.Duration
	for _, p := range []struct {
		end  time.Duration
		name string
	}{{t.Kernel, "firmware and boot loader"}, {t.Init, "kernel"}, {t.Mongod, "init"}, {t.Answer, "mongod"}} {
		if p.end > before {
			parts = append(parts, fmt.Sprintf("%.1f %s", (p.end-before).Seconds(), p.name))
			before = p.end
		}
	}
	if before == 0 {
		return "no mark reached"
	}
	return fmt.Sprintf("%.1f s: %s", before.Seconds(), strings.Join(parts, ", "))
}
