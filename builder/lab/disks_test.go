package lab

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"grove/builder/lab/bay"
	"grove/internal/size"
)

// Of the buses only USB lets go of a disk without a word from the guest, which here is a boot sector.
func TestDisksComeAndGo(t *testing.T) {
	var disks []bay.Disk
	for _, bus := range []string{"virtio", "nvme", "sata", "usb", "scsi"} {
		disks = append(disks, bay.Disk{Name: bus, Bus: bus, Size: 2 * size.MiB})
	}
	l := up(t, Config{Disks: [][]bay.Disk{disks}})
	expect(t, l, "node1", "> ")
	ctx := within(t, time.Minute)
	b, err := l.Bay("node1")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{l.Unplug(ctx, "node1", "usb"), b.Replace("usb", bay.Disk{}), l.Plug(ctx, "node1", "usb"), l.Unplug(ctx, "node1", "usb")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Unplug(ctx, "node1", "sata"); err == nil || !strings.Contains(err.Error(), "QEMU's sata has no hot plug") {
		t.Errorf("a SATA disk: got %v; want it refused", err)
	}
	if err := l.Reset(ctx, "node1"); err != nil {
		t.Fatal(err)
	}
	expect(t, l, "node1", "> ")
	if err := l.Plug(ctx, "node1", "usb"); err != nil {
		t.Errorf("a disk pulled in the boot before: %v", err)
	}
	file, _ := b.File("usb")
	if err := l.Close(ctx); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the disk's file is left after Close")
	}
}

func TestThePowerIsCutAtALine(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration
	}{{"at once", 0}, {"some time after it", 300 * time.Millisecond}} {
		t.Run(c.name, func(t *testing.T) {
			l := up(t, Config{})
			expect(t, l, "node1", "> ")
			cut, err := l.CutAt("node1", regexp.MustCompile(`^> storage: be(gi)ns$`), c.after)
			if err != nil {
				t.Fatal(err)
			}
			typed := time.Now()
			if err := l.Type("node1", "storage: begins"); err != nil {
				t.Fatal(err)
			}
			line, err := cut.Wait(within(t, time.Minute))
			if err != nil || line != "> storage: begins" {
				t.Errorf("got %q, %v; want the line", line, err)
			}
			if took := time.Since(typed); took < c.after || took > c.after+5*time.Second {
				t.Errorf("off %v after the line was typed; want %v", took, c.after)
			}
			if s := l.Nodes()[0]; s.State != "off" || s.Fault != "" {
				t.Errorf("got %+v; want it off, without a fault", s)
			}
			if err := l.Start(within(t, time.Minute), "node1"); err != nil {
				t.Fatal(err)
			}
			expect(t, l, "node1", "> ")
			if err := l.Type("node1", "storage: begins"); err != nil {
				t.Fatal(err)
			}
			expect(t, l, "node1", "storage: begins\n") // a cut strikes once
		})
	}
}
