package sysfs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// identity tells how a disk is attached, and what it says of itself.
//
// /sys/block/X/device leads to the device behind the disk; its subsystem is the kind of driver, and for SCSI, which also stands for ATA and USB, the folders
// above tell which: .../ata2/host1/target1:0:0/1:0:0:0.
func (n node) identity() (bus, serial, model string) {
	path, err := filepath.EvalSymlinks(n.dir + "/device")
	if err != nil {
		return "", "", ""
	}
	d := node{n.root, path}
	kind, _ := os.Readlink(path + "/subsystem")
	switch filepath.Base(kind) {
	case "nvme", "nvme-subsystem": // the second where the kernel joins several paths to one disk
		return "nvme", d.text("serial"), d.text("model")
	case "virtio":
		return "virtio", n.text("serial"), ""
	case "xen":
		return "xen", "", ""
	case "mmc":
		return "mmc", d.text("serial"), d.text("name")
	case "scsi":
		return d.scsi()
	}
	return "", "", ""
}

var (
	ataPort = regexp.MustCompile(`/ata\d+/`)
	usbPort = regexp.MustCompile(`/usb\d+/`)
	rootHub = regexp.MustCompile(`^usb\d+$`)
)

func (n node) scsi() (bus, serial, model string) {
	model, serial = n.text("model"), vpdSerial(n.raw("vpd_pg80"))
	if serial == "" {
		serial = n.text("wwid")
	}
	switch path := filepath.ToSlash(n.dir) + "/"; {
	case usbPort.MatchString(path):
		return "usb", or(n.usbSerial(), serial), model
	case ataPort.MatchString(path):
		return "sata", serial, or(ataModel(n.raw("vpd_pg83")), model)
	}
	return "scsi", serial, model
}

func or(first, second string) string {
	if first != "" {
		return first
	}
	return second
}

// usbSerial is that of the nearest USB device above; the hub at the root calls its own PCI address so.
func (n node) usbSerial() string {
	for d := n; len(d.dir) > len(d.root)+len("/sys/devices") && !rootHub.MatchString(filepath.Base(d.dir)); d.dir = filepath.Dir(d.dir) {
		if s := d.text("serial"); s != "" {
			return s
		}
	}
	return ""
}

// vpdSerial reads the unit serial number page (SPC-4, 7.8.16): type, 0x80, two bytes of length, text with spaces around.
func vpdSerial(page []byte) string {
	if len(page) < 4 || page[1] != 0x80 {
		return ""
	}
	length := min(int(page[2])<<8|int(page[3]), len(page)-4)
	return text(page[4 : 4+length])
}

// ataModel finds the whole model, 40 letters, in the device identification page (SPC-4, 7.8.5). A disk's name in /sys is cut after 16, but libata repeats it
// here: a designator of type 1 that holds "ATA", model and serial number (SAT-3, 10.3.4.2.3).
func ataModel(page []byte) string {
	const vendor, name, serial = 8, 40, 20
	if len(page) < 4 || page[1] != 0x83 {
		return ""
	}
	for rest := page[4:]; len(rest) >= 4; {
		length := int(rest[3])
		if len(rest) < 4+length {
			break
		}
		if data := rest[4 : 4+length]; rest[1]&0xf == 1 && length == vendor+name+serial && text(data[:vendor]) == "ATA" {
			return text(data[vendor : vendor+name])
		}
		rest = rest[4+length:]
	}
	return ""
}

// text keeps what can be printed.
func text(b []byte) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, string(b)))
}
