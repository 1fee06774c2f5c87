package qemu

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/size"
	"grove/internal/spec"
)

var update = flag.Bool("update", false, "write the golden files anew")

func machine() Machine {
	return Machine{
		Name: "node1", Arch: spec.AMD64, Type: "q35", CPU: "max", CPUs: 2, Memory: 2 * size.GiB, Bus: "virtio", Disk: "/lab/node1.qcow2", MAC: "52:54:00:05:00:0b",
		Paths: Paths{Console: "/run/0.con", Monitor: "/run/0.mon", Network: "/run/0.net", Firmware: "/run/0.bios"},
		Blobs: []Blob{{"opt/org.grove/node.yaml", "/lab/a,b/node.yaml"}},
	}
}

func TestGoldenCommandLines(t *testing.T) {
	bios, uefi := machine(), machine()
	bios.Date = "1970-01-01"
	uefi.Bus, uefi.UEFI = "nvme", &UEFI{Code: "/fw/CODE.fd", Vars: "/lab/node1.vars.fd"}
	every := machine()
	every.Ports, every.Port, every.USB = 4, 2, true
	every.Disks = []Disk{
		{ID: "data-d1", Bus: "virtio", File: "/lab/d,1.disk", Serial: "d1", Port: 1}, {ID: "data-d2", Bus: "nvme", File: "/lab/d2.disk", Serial: "vol0123", Port: 3},
		{ID: "data-d3", Bus: "sata", File: "/lab/d3.disk", Serial: "A1", Model: "Solid, 2.5", Port: 0}, {ID: "data-d4", Bus: "usb", File: "/lab/d4.disk", Serial: "stick"},
		{ID: "data-d5", Bus: "scsi", File: "/lab/d5.disk", Serial: "d5", Model: "Volume"},
	}
	arm64, armhf := machine(), machine()
	arm64.Arch, arm64.Type, arm64.CPU, arm64.UEFI = spec.ARM64, "virt", "max,pauth-impdef=on", &UEFI{Code: "/fw/CODE.fd", Vars: "/lab/node1.vars.fd"}
	armhf.Arch, armhf.Type, armhf.CPU, armhf.UBoot, armhf.Disk, armhf.Raw, armhf.Blobs = spec.ARMHF, "virt", "cortex-a7", "/fw/u-boot.bin", "/lab/node1.img", true, nil
	armhf.Ports, armhf.Port, armhf.USB = 1, 1, true
	armhf.Disks = []Disk{{ID: "data-d3", Bus: "sata", File: "/lab/d3.disk", Serial: "A1"}, {ID: "data-d4", Bus: "usb", File: "/lab/d4.disk", Serial: "stick"}}
	board := armhf
	board.SoC, board.Type, board.CPU, board.UBoot = "/chain/qemu-system-arm", "cubieboard", "", ""
	for name, m := range map[string]Machine{"bios-virtio": bios, "uefi-nvme": uefi, "every-bus": every, "arm64": arm64, "armhf": armhf, "cubieboard": board} {
		got := m.Program()
		for _, arg := range m.Args() {
			if strings.HasPrefix(arg, "-") {
				got += " \\\n "
			}
			got += " " + arg
		}
		got += "\n"
		golden := filepath.Join("testdata", name+".args")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestUEFIIsFoundOrNamed(t *testing.T) {
	only := func(paths ...string) func(string) bool {
		return func(p string) bool { return strings.Contains(strings.Join(paths, " "), p) }
	}
	got, err := FindUEFI(spec.AMD64, only("/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"))
	if err != nil || got.Code != "/usr/share/OVMF/OVMF_CODE_4M.fd" || got.Vars != "/usr/share/OVMF/OVMF_VARS_4M.fd" {
		t.Errorf("on Debian: got %v, %v", got, err)
	}
	_, err = FindUEFI(spec.AMD64, only("/usr/share/OVMF/OVMF_CODE_4M.fd"))
	if err == nil || !strings.Contains(err.Error(), "OVMF_CODE_4M.fd") || !strings.Contains(err.Error(), "scripts/setup-host") {
		t.Errorf("without its variables: got %v; want the file and the script named", err)
	}
}

func TestAMachineHasItsOwnVariables(t *testing.T) {
	dir := t.TempDir()
	template := filepath.Join(dir, "VARS.fd")
	if err := os.WriteFile(template, []byte("vars"), 0o444); err != nil {
		t.Fatal(err)
	}
	own, err := UEFI{Code: "/CODE.fd", Vars: template}.Own(filepath.Join(dir, "node1.fd"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own.Vars, []byte("mine"), 0o644); err != nil {
		t.Errorf("the copy cannot be written to: %v", err)
	}
	if text, _ := os.ReadFile(template); string(text) != "vars" {
		t.Errorf("the template now holds %q", text)
	}
}
