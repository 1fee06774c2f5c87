package superblock

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// Member is a device's place in an md array.
type Member struct {
	Name   string // of the array, without the host that made it
	Host   string
	Level  string // raid10
	Disks  int    // slots of the array
	Role   int    // its slot, -1 spare or faulty
	Events uint64
	Synced bool // the array's first sync is done
}

var levels = map[int32]string{0: "raid0", 1: "raid1", 4: "raid4", 5: "raid5", 6: "raid6", 10: "raid10", -1: "linear", -4: "multipath"}

// readMD reads version 1.2, 4 KiB into the device: struct mdp_superblock_1 of include/uapi/linux/raid/md_p.h. Versions 1.0, 1.1 and 0.90 are none of ours.
//
//	0 magic  4 major  16 set_uuid  32 set_name  72 level  92 raid_disks  144 super_offset  160 dev_number
//	200 events  208 resync_offset  216 sb_csum  220 max_dev  256 dev_roles, 2 bytes each
func readMD(b []byte) *Found {
	const at, roles = 4096, 256
	s, little := b[at:], binary.LittleEndian
	devices, number := int(little.Uint32(s[220:])), int(little.Uint32(s[160:]))
	if little.Uint32(s) != 0xa92b4efc || little.Uint32(s[4:]) != 1 || little.Uint64(s[144:]) != at/512 || devices > (len(s)-roles)/2 {
		return nil
	}
	if s = s[:roles+2*devices]; little.Uint32(s[216:]) != sumMD(s) {
		return nil
	}
	m := &Member{Name: text(s[32:64]), Level: levels[int32(little.Uint32(s[72:]))], Disks: int(little.Uint32(s[92:])), Role: -1, Events: little.Uint64(s[200:]),
		Synced: little.Uint64(s[208:]) == ^uint64(0)}
	if host, name, found := strings.Cut(m.Name, ":"); found {
		m.Host, m.Name = host, name
	}
	if number < devices {
		if role := little.Uint16(s[roles+2*number:]); role < 0xff00 { // above: spare, faulty, journal
			m.Role = int(role)
		}
	}
	return &Found{Type: "linux_raid_member", Offset: at, UUID: canonical(s[16:]), Label: m.Name, Member: m}
}

// sumMD is calc_sb_1_csum of drivers/md/md.c: 32-bit words with the checksum's own taken as 0, the carry added at the end.
func sumMD(s []byte) uint32 {
	s = bytes.Clone(s)
	clear(s[216:220])
	var sum uint64
	for ; len(s) >= 4; s = s[4:] {
		sum += uint64(binary.LittleEndian.Uint32(s))
	}
	if len(s) == 2 {
		sum += uint64(binary.LittleEndian.Uint16(s))
	}
	return uint32(sum) + uint32(sum>>32)
}
