package slot

import (
	"encoding/binary"
	"regexp"
	"strings"
)

// NitroModels are the models of NVMe controllers that have a name to tell.
var NitroModels = []string{"Amazon Elastic Block Store", "Amazon EC2 NVMe Instance Storage"}

// ParseNitro reads the name that a disk was attached by out of what its controller says of itself, "" where it says none or is none of Amazon's.
//
//	0      2     PCI vendor id, 0x1D0F is Amazon's
//	24     40    model, padded with spaces
//	3072   32    name, padded with spaces (EBS) or NULs (instance store)
//
// The layout is that of ebsnvme-id of amazon-ec2-utils; the rest is NVM Express 1.4, figure 247.
func ParseNitro(identify []byte) string {
	const vendor, nameAt, nameEnd = 0x1d0f, 3072, 3072 + 32
	if len(identify) < nameEnd || binary.LittleEndian.Uint16(identify) != vendor {
		return ""
	}
	name, _, _ := strings.Cut(string(identify[nameAt:nameEnd]), "\x00")
	if name = strings.TrimSpace(name); !nitroName.MatchString(name) {
		return ""
	}
	return name
}

var nitroName = regexp.MustCompile(`^(/dev/)?[a-z][a-z0-9]*(:(/dev/)?[a-z][a-z0-9]*)?$`)

var volume = regexp.MustCompile(`^vol-?([0-9a-f]{8,17})$`)

// EBS gives the volume id of a Nitro disk, whose serial number is the id without its hyphen.
func EBS(model, serial string) string {
	if m := volume.FindStringSubmatch(serial); m != nil && model == NitroModels[0] {
		return "vol-" + m[1]
	}
	return ""
}
