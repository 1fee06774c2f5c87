// Package facts is the storage of a machine as it was found, before anything is decided: whole disks with who they are and what is on them, the arrays,
// volumes, file systems and swap that stand already.
//
// Looking never writes. What the evidence amounts to is a class, by the rules of Classify; what is done about it is package plan's affair.
package facts

import (
	"grove/internal/size"
)

// Have is all of it.
type Have struct {
	Disks   []Disk   // whole disks, by kernel name
	Arrays  []Array  // md arrays that are assembled
	Volumes []Volume // LVM logical volumes of groups that can be seen
	Groups  []Group  // LVM volume groups that can be seen
	Mounts  []Mount
	Swaps   []string // devices and files in use
}

// Disk is a whole disk, what it is called and what is on it.
type Disk struct {
	Name   string    // the kernel's: nvme1n1
	Dev    string    // /dev/nvme1n1
	Names  []string  // by which a recipe may call it, the kernel's first: nvme1n1, xvdb, sdb
	Size   size.Size // bytes
	Serial string
	Model  string
	Bus    string // one of spec.Buses, "" unknown
	EBS    string // volume id, vol-...

	Class    Class
	Evidence []string // one sentence each, the reasons of the class: `ext4, label data, UUID ...`

	Content Content  // of the whole disk
	Parts   []Part   // its partitions, by number
	Holders []string // kernel names of what is built on it or on a partition of it: md127, dm-0
}

// Part is a partition.
type Part struct {
	Dev, Name string
	Number    int
	Type      string // GPT type GUID, or MBR type as 0x82
	UUID      string // PARTUUID
	Size      size.Size
	Content   Content
}

// Content is what a device carries, by blkid's low-level probe. Empty Type with empty Table and no other signature is nothing known, which is not the same
// as blank.
type Content struct {
	Type       string   // ext4, xfs, swap, linux_raid_member, LVM2_member, crypto_LUKS, ...
	UUID       string   // of the file system, or of the array of an md member
	Label      string   // of the file system; of an md member, the array's name
	Table      string   // gpt, dos, ...
	Signatures []string // all that wipefs sees: `ext4 at 0x438`
	Ambivalent bool     // blkid found several that exclude each other
	Data       string   // where the samples found a byte that is not 0: `at 512 MiB`; "" when all were 0 or were not taken
	Sampled    bool
	Member     *Member // of an md array
	Group      string  // of an LVM physical volume: its volume group
}

// Blank is proven: nothing known is on it, and all samples were zero.
func (c Content) Blank() bool {
	return c.Type == "" && c.Table == "" && len(c.Signatures) == 0 && !c.Ambivalent && c.Sampled && c.Data == ""
}

// Member is an md superblock (1.2).
type Member struct {
	Array  string // its UUID, in the form of a UUID
	Name   string // as made, without the host
	Level  string // raid10
	Disks  int    // raid devices
	Role   int    // slot, -1 spare or none
	Events uint64
}

// Array is an assembled md array.
type Array struct {
	Name, Dev string // md127, /dev/md127
	UUID      string
	Level     string // raid10
	Disks     int    // slots
	Working   int    // slots in use
	Members   []string
	Degraded  bool
	Sync      string // idle, resync, recover, check
	Size      size.Size
	Content   Content
}

// Group is a volume group; Tags are LVM's.
type Group struct {
	Name, UUID string
	Tags       []string
	Size, Free size.Size
	Devices    []string // physical volumes: /dev/md127
}

// Volume is a logical volume.
type Volume struct {
	Name, Group string
	Dev         string // /dev/GROUP/NAME
	Size        size.Size
	Active      bool
	Content     Content
}

// Mount is a mounted file system.
type Mount struct{ Dev, Target, Type, Options string }

// Class is what a disk is to this node.
type Class string

// The classes, facts/storage rule 2.1 in order of test: the first that fits is the disk's.
const (
	System       Class = "system"        // carries what the node runs from
	Busy         Class = "busy"          // in use by somebody else
	OursComplete Class = "ours-complete" // made by this node, finished
	OursPartial  Class = "ours-partial"  // made by this node, cut off before the end, and the journal says so
	OtherNode    Class = "other-node"    // made by Grove for another node or cluster
	Foreign      Class = "foreign"       // carries anything else
	Blank        Class = "blank"         // proven
)
