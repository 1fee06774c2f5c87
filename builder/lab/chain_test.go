package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"grove/builder/uboot"
	"grove/internal/host"
	"grove/internal/size"
	"grove/internal/spec"
)

// board is a lab of an Allwinner card, with a chain folder in which the sibling's U-Boot is this text.
func board(t *testing.T, loader []byte) Config {
	t.Helper()
	chain := t.TempDir()
	folder := filepath.Join(chain, "u-boot", "Sibling")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, uboot.Binary), loader, 0o644); err != nil {
		t.Fatal(err)
	}
	c := Config{Image: sector(t, guest), Nodes: []spec.Personal{{Hostname: "node1"}}, Host: &host.Fake{}, Firmware: sunxi, Chain: chain}
	c.Image.Arch = spec.ARMHF
	c.Image.Lab.Machine = "virt"
	c.Image.Lab.Chain = spec.Chain{Machine: "cubieboard", UBoot: "Sibling"}
	return c
}

func TestABoardsLabThatCannotStartSaysWhy(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"all is well", func(*Config) {}, ""},
		{"its own banner", func(c *Config) { c.Firmware = spl }, ""},
		{"on virt", func(c *Config) { c.Firmware = virtUBoot }, ""},
		{"a board without a sibling", func(c *Config) { c.Image.Lab.Chain = spec.Chain{} }, `firmware: have "sunxi", but the board's lab has no chain`},
		{"another way to start", func(c *Config) { c.Firmware = "bios" }, `firmware: have "bios", want u-boot or sunxi or spl`},
		{"another disk to start from", func(c *Config) { c.Bus = "nvme" }, `disk: have "nvme", want virtio`},
		{"no QEMU that has it", func(c *Config) { c.Chain, c.Host = "/no", &blind{} }, "find /no/bin/qemu-system-arm: it is not there; run scripts/fetch-chain"},
	} {
		changed := board(t, nil)
		c.change(&changed)
		_, err := changed.complete()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: got %v; want %q", c.name, err, c.want)
		}
	}
}

func TestTheSiblingsUBootTakesItsPlaceInTheCard(t *testing.T) {
	card := filepath.Join(t.TempDir(), "card")
	before := bytes.Repeat([]byte{0xa5}, bootAt+512)
	if err := os.WriteFile(card, before, 0o644); err != nil {
		t.Fatal(err)
	}
	loader := bytes.Repeat([]byte("eGON"), 100)
	if err := board(t, loader).swapUBoot(card); err != nil {
		t.Fatal(err)
	}
	want := append([]byte(nil), before...)
	copy(want[uboot.Place:], loader)
	if got, err := os.ReadFile(card); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the card has other bytes than before and U-Boot at %s, %v", uboot.Place, err)
	}
	if err := board(t, make([]byte, bootAt)).swapUBoot(card); err == nil || !strings.Contains(err.Error(), "fit before the boot partition") {
		t.Errorf("one that reaches into the boot partition: got %v", err)
	}
	none := board(t, nil)
	none.Image.Lab.Chain.UBoot = "Other"
	if err := none.swapUBoot(card); err == nil || !strings.Contains(err.Error(), "run scripts/fetch-chain") {
		t.Errorf("one that is not there: got %v", err)
	}
	if got, err := os.ReadFile(card); err != nil || !bytes.Equal(got, want) {
		t.Errorf("a refusal has changed the card, %v", err)
	}
}

func TestCardsAreAsLargeAsTheirHostTakes(t *testing.T) {
	for _, c := range []struct {
		firmware   string
		disk, want size.Size
	}{{virtUBoot, 3 * size.GiB, 3 * size.GiB}, {sunxi, 3 * size.GiB, 4 * size.GiB}, {sunxi, 4 * size.GiB, 4 * size.GiB}, {spl, 5 * size.GiB, 8 * size.GiB}} {
		config := board(t, nil)
		config.Firmware, config.Image.Lab.Disk = c.firmware, c.disk
		if got := config.capacity(); got != c.want {
			t.Errorf("%s, %s: got %s, want %s", c.firmware, c.disk, got, c.want)
		}
	}
}

func TestABoardIsGivenItsAddress(t *testing.T) {
	own := spec.Network{Interfaces: []spec.Interface{{Name: "eth0", Address: "10.5.0.99/24"}}}
	n := &node{config: board(t, nil)}
	n.seat.IP = "10.5.0.11"
	if got := n.unnamed(spec.Network{}); len(got.Interfaces) != 1 || got.Interfaces[0].Address != "10.5.0.11/24" || len(got.DNS) != 1 || len(got.NTP) != 1 {
		t.Errorf("got %+v; want the seat's address", got)
	}
	if got := n.unnamed(own); got.Interfaces[0].Address != "10.5.0.99/24" {
		t.Errorf("got %+v; want the node's own", got)
	}
	n.config.Firmware = virtUBoot
	if got := n.unnamed(spec.Network{}); len(got.Interfaces) != 0 {
		t.Errorf("got %+v; want DHCP where the address of the card is known", got)
	}
}
