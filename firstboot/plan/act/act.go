// Package act has the acts of a storage plan as values: what is done to which device, with all that it takes to do it.
//
// There are acts that make, mount and add. None erases: what carries anything else is refused before there is an act. Two of them may be done over our own half-
// finished work, which Redo says, and whoever plans one with it has proven that.
package act

import (
	"slices"

	"grove/internal/size"
)

// Act is one. Which fields count follows from its kind.
type Act struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"` // a sentence without a subject, the same in the plan, the journal and on the console

	Dev   string   `json:"dev"`             // what is made, or worked on: /dev/md/grove, /dev/grove/data, /dev/vdb
	From  []string `json:"from,omitempty"`  // what it is made of, in order: members of an array, the physical volume of a group
	Disks []Disk   `json:"disks,omitempty"` // whole disks that are written to; none when only what is there is put to use
	UUID  string   `json:"uuid,omitempty"`  // to be given, or to be found there
	Redo  bool     `json:"redo,omitempty"`  // over our own half-finished work

	Label    string    `json:"label,omitempty"` // of a file system or swap; name of an array or a volume
	Tags     []string  `json:"tags,omitempty"`  // of a group
	Level    string    `json:"level,omitempty"` // 10, 0, 1
	Chunk    size.Size `json:"chunk,omitempty"`
	Run      bool      `json:"run,omitempty"`      // assemble with members missing
	Percent  int       `json:"percent,omitempty"`  // of the group
	Size     size.Size `json:"size,omitempty"`     // of swap
	Type     string    `json:"type,omitempty"`     // of a file system: ext4, xfs
	On       string    `json:"on,omitempty"`       // where it is mounted; what a link points to
	Priority int       `json:"priority,omitempty"` // of swap, the highest is used first
	Options  []string  `json:"options,omitempty"`  // of the mount
	Seal     *Seal     `json:"seal,omitempty"`
}

// Disk is a whole disk as it was when the plan was made; before it is written to, it must still be the same.
type Disk struct {
	Dev    string    `json:"dev"`
	Serial string    `json:"serial,omitempty"`
	Size   size.Size `json:"size"`
}

// Seal is what stands in SealFile, when all was made.
type Seal struct {
	Cluster string            `json:"cluster"`
	Node    string            `json:"node"`
	UUIDs   map[string]string `json:"uuids"` // by role
}

// SealFile lies in the root of the data's file system.
const SealFile = ".grove-complete"

// Array is the name by which ours is assembled. md names /dev/md127 and the like as it sees fit.
const Array = "/dev/md/grove"

// Kind is what is done.
type Kind string

// The kinds. From CreateArray to MakeSwap they write to disks and have a record in the journal; the others put to use what is there.
const (
	CreateArray  Kind = "create array"
	AddMember    Kind = "add member"
	CreatePV     Kind = "create physical volume"
	CreateGroup  Kind = "create volume group"
	CreateVolume Kind = "create volume"
	MakeFS       Kind = "make file system"
	SealFS       Kind = "seal"
	MakeTable    Kind = "make partition table"
	MakeSwap     Kind = "make swap"

	Assemble     Kind = "assemble array"
	Activate     Kind = "activate volume group"
	Mount        Kind = "mount"
	Link         Kind = "link"
	CheckSeal    Kind = "check seal"
	MakeSwapfile Kind = "make swap file" // under another name, and then renamed: there is nothing to resume
	MakeZram     Kind = "make swap in compressed RAM"
	SwapOn       Kind = "swap on"
)

// Recorded says whether the act has a record in the journal.
func (k Kind) Recorded() bool {
	return slices.Contains([]Kind{CreateArray, AddMember, CreatePV, CreateGroup, CreateVolume, MakeFS, SealFS, MakeTable, MakeSwap}, k)
}
