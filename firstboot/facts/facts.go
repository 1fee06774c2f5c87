// Package facts is the storage of a machine as it was found, before anything is decided: whole disks with who they are and what is on them, the arrays,
// volumes, file systems and swap that stand already.
//
// Looking never writes. What the evidence amounts to is a class, by the rules of Classify; what is done about it is package plan's affair.
//
// A device is read by package superblock first, as that takes a millisecond and a program some hundred. blkid and wipefs have the last word on all that it does
// not understand, and zeros are looked for on what they do not know either. So a node whose disks are its own runs no program at all to see that.
package facts

import (
	"grove/internal/size"
)

// Have is all of it.
type Have struct {
	Disks   []Disk   `json:"disks"`             // whole disks, by kernel name
	Arrays  []Array  `json:"arrays,omitempty"`  // md arrays that the kernel holds
	Groups  []Group  `json:"groups,omitempty"`  // LVM volume groups that can be seen
	Volumes []Volume `json:"volumes,omitempty"` // logical volumes of groups that can be seen
	Mounts  []Mount  `json:"mounts,omitempty"`  // of block devices
	Swaps   []string `json:"swaps,omitempty"`   // devices and files in use
	Remarks []string `json:"remarks,omitempty"` // what a person should hear of names that are not certain
}

// Disk is a whole disk, what it is called and what is on it.
type Disk struct {
	Name   string    `json:"name"`  // the kernel's: nvme1n1
	Dev    string    `json:"dev"`   // /dev/nvme1n1
	Names  []string  `json:"names"` // by which a recipe may call it, the kernel's first: nvme1n1, xvdb, sdb
	Size   size.Size `json:"size"`
	Serial string    `json:"serial,omitempty"`
	Model  string    `json:"model,omitempty"`
	Bus    string    `json:"bus,omitempty"` // one of spec.Buses, "" unknown
	EBS    string    `json:"ebs,omitempty"` // volume id, vol-...

	Class    Class    `json:"class,omitempty"`    // by Classify
	Evidence []string `json:"evidence,omitempty"` // one sentence each, the reasons of the class: `ext4, label data, UUID ...`

	Content  Content  `json:"content"`            // of the whole disk
	Parts    []Part   `json:"parts,omitempty"`    // its partitions, by number
	Holders  []string `json:"holders,omitempty"`  // kernel names of what is built on it, on a partition of it, or on those in turn: md127, dm-0
	Held     bool     `json:"held,omitempty"`     // somebody has it, or a partition of it, for themselves: a holder, a mount, swap, another program
	ReadOnly bool     `json:"readonly,omitempty"` // write-protected
}

// Part is a partition.
type Part struct {
	Dev     string    `json:"dev"`
	Name    string    `json:"name"`
	Number  int       `json:"number"`
	Type    string    `json:"type,omitempty"` // GPT type GUID, or MBR type as 0x82; "" of a kind of table that is not read
	UUID    string    `json:"uuid,omitempty"` // PARTUUID
	Size    size.Size `json:"size"`
	Content Content   `json:"content"`
}

// Content is what a device carries. Empty Type with empty Table and no other signature is nothing known, which is not the same as blank.
type Content struct {
	Type       string   `json:"type,omitempty"`       // as blkid says it: ext4, xfs, swap, linux_raid_member, LVM2_member, crypto_LUKS, ...
	UUID       string   `json:"uuid,omitempty"`       // of the file system, of the array of an md member, of a physical volume
	Label      string   `json:"label,omitempty"`      // of the file system; of an md member, the array's name
	Table      string   `json:"table,omitempty"`      // gpt, dos, ...
	TableID    string   `json:"table_id,omitempty"`   // GUID of a GPT, 8 hex digits of an MBR
	Signatures []string `json:"signatures,omitempty"` // all that can be seen, each with its place: `ext4 at 0x438`
	Ambivalent bool     `json:"ambivalent,omitempty"` // there are several that exclude each other
	Unfinished bool     `json:"unfinished,omitempty"` // an xfs whose mkfs did not come to its end
	Data       string   `json:"data,omitempty"`       // where a byte was found that is not 0: `at 512MiB`; "" when none was found, or none looked for
	Sampled    bool     `json:"sampled,omitempty"`    // looked for: only where blkid and wipefs have both found nothing
	Fault      string   `json:"fault,omitempty"`      // why it could not be looked at; then the rest says nothing
	Member     *Member  `json:"member,omitempty"`     // of an md array
	Group      string   `json:"group,omitempty"`      // of an LVM physical volume: its volume group
	GroupID    string   `json:"group_id,omitempty"`   // that one's UUID; every node's group has the same name
}

// Known says that there is a signature of any kind. What has none may still be data.
func (c Content) Known() bool {
	return c.Type != "" || c.Table != "" || len(c.Signatures) > 0 || c.Ambivalent
}

// Blank is proven: nothing known is on it, and all that was read of it was zero.
func (c Content) Blank() bool { return !c.Known() && c.Sampled && c.Data == "" && c.Fault == "" }

// Member is an md superblock (1.2).
type Member struct {
	Array  string `json:"array"` // its UUID, in the form of a UUID
	Name   string `json:"name"`  // as made, without the host
	Level  string `json:"level"` // raid10
	Disks  int    `json:"disks"` // slots of the array
	Role   int    `json:"role"`  // its slot, -1 spare or none
	Events uint64 `json:"events"`
}

// Array is an md array that the kernel holds. One whose State is inactive cannot be used, and its members cannot be used otherwise.
type Array struct {
	Name     string    `json:"name"` // md127
	Dev      string    `json:"dev"`  // /dev/md127
	State    string    `json:"state"`
	UUID     string    `json:"uuid"`
	Level    string    `json:"level"`   // raid10
	Disks    int       `json:"disks"`   // slots
	Working  int       `json:"working"` // slots that are in use and in step
	Members  []string  `json:"members"` // kernel names
	Faulty   []string  `json:"faulty,omitempty"`
	Degraded bool      `json:"degraded"`
	Sync     string    `json:"sync,omitempty"` // idle, resync, recover, check
	Done     string    `json:"done,omitempty"` // of the sync, in sectors: 2048 / 1046528
	Size     size.Size `json:"size"`
	Content  Content   `json:"content"`
}

// Group is a volume group; Tags are LVM's.
type Group struct {
	Name    string    `json:"name"`
	UUID    string    `json:"uuid"`
	Tags    []string  `json:"tags,omitempty"`
	Size    size.Size `json:"size"`
	Free    size.Size `json:"free"`
	Devices []string  `json:"devices"` // physical volumes that are there: /dev/md127
	Missing int       `json:"missing,omitempty"`
}

// Volume is a logical volume.
type Volume struct {
	Name    string    `json:"name"`
	Group   string    `json:"group"`
	GroupID string    `json:"group_id"` // its group's UUID
	Dev     string    `json:"dev"`      // /dev/GROUP/NAME
	Kernel  string    `json:"kernel,omitempty"`
	Size    size.Size `json:"size"`
	Active  bool      `json:"active"`
	Content Content   `json:"content"` // of an active one
}

// Mount is a mounted file system.
type Mount struct {
	Dev     string `json:"dev"`
	Kernel  string `json:"kernel,omitempty"` // the device's name in the kernel: vda3, dm-0
	Target  string `json:"target"`
	Type    string `json:"type"`
	Options string `json:"options"`
}

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
