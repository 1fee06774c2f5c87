package kmod

import (
	"slices"
	"strings"
	"testing"

	"grove/internal/spec"
)

var boot = spec.Modules{Modules: map[string]spec.Module{
	"virtio_net":   {File: "/modules/virtio_net.ko", Needs: []string{"net_failover", "failover"}, Alias: []string{"virtio:d00000001v*"}},
	"net_failover": {File: "/modules/net_failover.ko", Needs: []string{"failover"}},
	"failover":     {File: "/modules/failover.ko"},
	"ena":          {File: "/modules/ena.ko", Alias: []string{"pci:v00001D0Fd0000EC2[01]sv*sd*bc*sc*i*"}},
	"button":       {File: "/modules/button.ko", Alias: []string{"acpi*:LNXPWRBN:*", "acpi*:PNP0C0C:*"}},
	"loop":         {File: "/modules/a.ko", Needs: []string{"back"}},
	"back":         {File: "/modules/b.ko", Needs: []string{"loop"}},
	"dt":           {File: "/modules/dt.ko", Alias: []string{"of:N*T*Cvendor,thing/v2*"}},
}}

func TestFor(t *testing.T) {
	x := New(boot, spec.Modules{Modules: map[string]spec.Module{"ena": {File: "/usr/lib/modules/ena.ko", Alias: []string{"pci:*"}}}})
	for _, c := range []struct{ modalias, want string }{
		{"virtio:d00000001v00001AF4", "virtio_net"},
		{"virtio:d00000002v00001AF4", ""},
		{"pci:v00001D0Fd0000EC20sv00001D0Fsd0000EC20bc02sc00i00", "ena"},
		{"pci:v00001D0Fd0000EC22sv00001D0Fsd0000EC20bc02sc00i00", ""},
		{"of:NserialT(null)Cvendor,thing/v2", "dt"},
		{"acpi:PNP0C0C:", "button"},
		{"", ""},
	} {
		if got := strings.Join(x.For(c.modalias), " "); got != c.want {
			t.Errorf("%s: got %q; want %q", c.modalias, got, c.want)
		}
	}
	if got := x.File("ena"); got != "/modules/ena.ko" {
		t.Errorf("ena is %s; the initramfs's comes first", got)
	}
}

func TestOrder(t *testing.T) {
	x := New(boot)
	for name, want := range map[string][]string{
		"virtio_net": {"failover", "net_failover", "virtio_net"},
		"failover":   {"failover"},
		"loop":       {"back", "loop"},
		"unknown":    nil,
	} {
		if got := x.Order(name); !slices.Equal(got, want) {
			t.Errorf("%s: got %v; want %v", name, got, want)
		}
	}
}
