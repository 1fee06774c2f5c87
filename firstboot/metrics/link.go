package metrics

import (
	"os"
	"strconv"
	"strings"
)

// links: the names are of /proc/net/dev's two headings.
func (c *collector) links(to out) {
	received := []string{"bytes", "packets", "errs", "drop", "fifo", "frame", "compressed", "multicast"}
	sent := []string{"bytes", "packets", "errs", "drop", "fifo", "colls", "carrier", "compressed"}
	for _, l := range c.kernel.Links() {
		for at, name := range received {
			to.counter("node_network_receive_"+name+"_total", "Network device statistic receive_"+name+".", l.Value(at), "device", l.Name)
		}
		for at, name := range sent {
			to.counter("node_network_transmit_"+name+"_total", "Network device statistic transmit_"+name+".", l.Value(len(received)+at), "device", l.Name)
		}
		at := "/sys/class/net/" + l.Name + "/"
		if state := c.kernel.Line(at + "operstate"); state != "" {
			to.gauge("node_network_up", "Whether it is up.", yes(state == "up"), "device", l.Name)
		}
		for _, f := range []struct {
			file, name, help string
			unit             float64
		}{
			{"mtu", "node_network_mtu_bytes", "The largest packet.", 1}, {"carrier", "node_network_carrier", "Whether it has a carrier.", 1},
			{"speed", "node_network_speed_bytes", "Bytes a second.", 1e6 / 8},
		} {
			if n, has := first(c.kernel.Line(at + f.file)); has && n >= 0 { // -1 is a speed that is not known
				to.gauge(f.name, f.help, n*f.unit, "device", l.Name)
			}
		}
	}
}

// temperature is what boards on a shelf die of.
func (c *collector) temperature(to out) {
	zones, _ := os.ReadDir(c.Root + "/sys/class/thermal")
	for _, z := range zones {
		number, is := strings.CutPrefix(z.Name(), "thermal_zone")
		if !is {
			continue
		}
		at := "/sys/class/thermal/" + z.Name() + "/"
		if n, err := strconv.ParseFloat(c.kernel.Line(at+"temp"), 64); err == nil {
			to.gauge("node_thermal_zone_temp", "Zone temperature in Celsius.", n/1000, "zone", number, "type", c.kernel.Line(at+"type"))
		}
	}
}
