package sysfs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"grove/internal/size"
)

// Array is an md array that the kernel holds. One that is "inactive" has members and can't be used: so it holds them, and they can't be used either.
type Array struct {
	Name    string // md127
	State   string // clean, active, write-pending, readonly, read-auto, inactive, ...
	UUID    string // "" from a kernel that does not tell
	Level   string // raid10
	Disks   int    // slots
	Working int    // slots in use
	Sync    string // idle, resync, recover, check; "" of an array without redundancy
	Done    string // of the sync: 2048 / 1046528 sectors, or none
	Size    size.Size
	Members []Member
}

// Member is a disk or partition of an array.
type Member struct {
	Name  string // kernel's: vdb
	Slot  int    // -1 none
	State string // in_sync, spare, faulty; several with commas
}

// Arrays lists what Documentation/admin-guide/md.rst describes. A stopped array, "clear", is left out.
func Arrays(root string) []Array {
	dirs, _ := filepath.Glob(root + "/sys/block/md*/md")
	var arrays []Array
	for _, dir := range dirs {
		n := node{root, dir}
		a := Array{Name: filepath.Base(filepath.Dir(dir)), State: n.text("array_state"), UUID: strings.ToLower(n.text("uuid")), Level: n.text("level"),
			Disks: int(n.number("raid_disks")), Sync: n.text("sync_action"), Done: n.text("sync_completed"), Size: node{root, filepath.Dir(dir)}.bytes("size")}
		if a.State == "" || a.State == "clear" {
			continue
		}
		a.Members = n.members()
		for _, m := range a.Members {
			if m.Slot >= 0 && strings.Contains(m.State, "in_sync") {
				a.Working++
			}
		}
		arrays = append(arrays, a)
	}
	return arrays
}

func (n node) members() []Member {
	entries, _ := os.ReadDir(n.dir)
	var members []Member
	for _, e := range entries {
		name, found := strings.CutPrefix(e.Name(), "dev-")
		if !found {
			continue
		}
		m := node{n.root, filepath.Join(n.dir, e.Name())}
		slot := -1
		if m.text("slot") != "none" && m.text("slot") != "" {
			slot = int(m.number("slot"))
		}
		members = append(members, Member{Name: name, Slot: slot, State: m.text("state")})
	}
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return members
}

// Mapped is a device of the device mapper.
type Mapped struct {
	Name  string // dm-0
	Title string // grove-data
	UUID  string // LVM- and the UUIDs of group and volume, 32 letters each
	Size  size.Size
}

// Mappeds lists them.
func Mappeds(root string) []Mapped {
	dirs, _ := filepath.Glob(root + "/sys/block/dm-*/dm")
	var all []Mapped
	for _, dir := range dirs {
		n := node{root, dir}
		all = append(all, Mapped{Name: filepath.Base(filepath.Dir(dir)), Title: n.text("name"), UUID: n.text("uuid"), Size: node{root, filepath.Dir(dir)}.bytes("size")})
	}
	return all
}
