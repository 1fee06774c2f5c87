package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

func TestCommandForNVMeHasTheKernelsShape(t *testing.T) {
	// linux/nvme_ioctl.h, struct nvme_passthru_cmd: the size is part of the request's number, and addr must be 8-byte aligned on 32-bit machines, too.
	var c nvmeCommand
	if have, want := unsafe.Sizeof(c), uintptr(nvmeAdmin>>16&0x3fff); have != want {
		t.Errorf("have %d bytes, want %d", have, want)
	}
	if at := unsafe.Offsetof(c.addr); at != 24 {
		t.Errorf("addr at %d, want 24", at)
	}
}

func TestWhatIsNoNVMeSaysWhatWasAsked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nvme9n1")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Real{}).IdentifyNVMe(file); err == nil || !strings.Contains(err.Error(), "ask "+file+" who it is") {
		t.Errorf("got %v", err)
	}
	if held, err := (Real{}).Held(file); held || err != nil {
		t.Errorf("a plain file: held %v, %v", held, err)
	}
	if _, err := (Real{}).Held(file + "x"); !os.IsNotExist(err) {
		t.Errorf("a missing device: %v", err)
	}
}
