package host

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Held see Machine. The kernel refuses O_EXCL on a block device that is claimed (open(2)), and on a whole disk of which a partition is.
func (Real) Held(dev string) (bool, error) {
	f, err := os.OpenFile(dev, os.O_RDONLY|unix.O_EXCL, 0)
	if errors.Is(err, unix.EBUSY) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, f.Close()
}

// nvmeAdmin is NVME_IOCTL_ADMIN_CMD of linux/nvme_ioctl.h: _IOWR('N', 0x41, struct nvme_admin_cmd).
const nvmeAdmin = 0xC0484E41

// nvmeCommand is struct nvme_admin_cmd, 72 bytes.
type nvmeCommand struct {
	opcode, flags         uint8
	_                     uint16
	nsid, cdw2, cdw3      uint32
	metadata, addr        uint64
	metadataLen, dataLen  uint32
	cdw10, cdw11, cdw12   uint32
	cdw13, cdw14, cdw15   uint32
	timeoutMillis, result uint32
}

// IdentifyNVMe see Machine. The kernel allows it to root alone, on the disk as on its controller.
func (Real) IdentifyNVMe(dev string) ([]byte, error) {
	const identify, controller = 0x06, 1
	data := make([]byte, 4096)
	var pinned runtime.Pinner
	defer pinned.Unpin()
	pinned.Pin(&data[0])
	c := nvmeCommand{opcode: identify, addr: uint64(uintptr(unsafe.Pointer(&data[0]))), dataLen: uint32(len(data)), cdw10: controller, timeoutMillis: 5000}
	if err := ioctl(dev, os.O_RDONLY, nvmeAdmin, unsafe.Pointer(&c)); err != nil {
		return nil, fmt.Errorf("ask %s who it is: %w", dev, err)
	}
	return data, nil
}
