package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"grove/internal/spec"
)

// asked is an agent of a fake node, and what its settings are after a second.
func (n *bench) asked() (got spec.Settings, known bool) {
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Second)
	defer cancel()
	n.begin()
	pass(500 * time.Millisecond)
	return n.agent.settings(ctx)
}

func TestNodeYAMLLiesOverTheImage(t *testing.T) {
	const image = `"network": {"mtu": 9001, "ntp": ["192.0.2.1"]}, "mongod": {"version": "6.0.5", "config": {}}}`
	for _, c := range []struct {
		name, personal string
		mtu            int
	}{
		{"the node's own MTU wins", "hostname: db1\nnetwork: {mtu: 1500}\n", 1500},
		{"without one the image's stands", "hostname: db1\n", 9001},
		{"what is refused says nothing", "hostname: db1\nnetwork: {mtu: 15}\n", 9001},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNode(t)
				n.file("etc/grove/image.json", `{"disk_id": "`+guid+`", `+image)
				n.file("sys/firmware/qemu_fw_cfg/by_name/opt/org.grove/node.yaml/raw", c.personal)
				got, known := n.asked()
				if !known || got.Network.MTU != c.mtu || len(got.Network.NTP) != 1 {
					t.Errorf("got %+v, known %v; want an MTU of %d and the image's NTP server", got.Network, known, c.mtu)
				}
				n.leave()
			})
		})
	}
}
