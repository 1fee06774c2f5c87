package agent

import (
	"time"

	"grove/firstboot/clock"
)

// amazon is EC2's own time server, on every instance.
const amazon = "169.254.169.123"

func (a *Agent) openClock() {
	a.clock = &clock.Site{Machine: a.Machine, Root: a.Root, Image: time.Unix(a.image.Time, 0), Ask: a.Wire.Time, Node: a.voice.On("clock")}
	a.clock.Open()
}

// servers are a person's time servers, then those of DHCP, else Amazon's own on its machines. They are not known before node.yaml was looked for, and that there is
// none not before there is an address.
func (n *naming) servers() (all []string, known bool) {
	var dhcp []string
	for _, h := range n.leases {
		dhcp = append(dhcp, words(h.lease.NTP)...)
	}
	all = clock.Servers(n.network.NTP, dhcp)
	if len(all) == 0 && n.ec2 {
		all = []string{amazon}
	}
	return all, n.looked && (len(all) > 0 || len(n.leases) > 0)
}
