// Package identity is whose a disk is: the names and UUIDs that a node gives to what it makes, and the way back from them to the node.
//
// All of them follow from the cluster's and the node's name, so that a second run knows its own half-finished work without a note of it, and two nodes
// can't be taken for each other. Whoever finds such a name can prove it: the UUID beside it must be the one that the name gives.
//
// It stands apart from package plan, which reads facts, because facts reads it too.
package identity

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"grove/internal/spec"
)

// Identity is a node of a cluster. A node's name has no underscore (RFC 1123), a cluster's may.
type Identity struct{ Cluster, Node string }

// Role is what a device is for.
type Role string

// The roles that have a UUID. Swap has one for each place of spec.SwapPlaces, made by Swap.
const (
	Array   Role = "md"
	PV      Role = "pv"
	Data    Role = "fs-data"
	Log     Role = "fs-log"
	Journal Role = "fs-journal"
)

// Swap is the role of the swap on one of spec.SwapPlaces.
func Swap(on string) Role { return Role("swap-" + on) }

// Group is the name of every volume group of ours, on every node; whose it is say its tags.
const Group = "grove"

func (i Identity) String() string { return i.Cluster + "/" + i.Node }

// UUID is that of an array, a file system or swap.
func (i Identity) UUID(r Role) string { return spec.ID(i.String(), string(r)) }

// PV is the UUID of the physical volume as LVM writes it, and as blkid shows it: 32 letters or digits in groups of 6-4-4-4-4-4-6.
func (i Identity) PV() string {
	h := fmt.Sprintf("%x", sha256.Sum256([]byte("grove\x00"+i.String()+"\x00"+string(PV))))
	return strings.Join([]string{h[:6], h[6:10], h[10:14], h[14:18], h[18:22], h[22:26], h[26:32]}, "-")
}

// most is what mdadm takes for a name: set_name of struct mdp_superblock_1 has 32 bytes.
const most = 31

// Array is the name within an md superblock: CLUSTER_NODE, or 24 digits of the array's UUID where that is too long.
func (i Identity) Array() string {
	if name := i.Cluster + "_" + i.Node; len(name) <= most {
		return name
	}
	return short(i.UUID(Array))
}

func short(uuid string) string { return "grove_" + strings.ReplaceAll(uuid, "-", "")[:24] }

// Tags are those of the volume group. LVM takes letters, digits and _+.-/=!:&# there.
func (i Identity) Tags() []string {
	return []string{clusterTag + i.Cluster, nodeTag + i.Node}
}

const (
	clusterTag = "grove_cluster_"
	nodeTag    = "grove_node_"
)

// Label is that of file systems and swap: the node's name, of which XFS takes 12 letters.
func (i Identity) Label() string { return i.Node[:min(12, len(i.Node))] }

// OfArray gives whose array it is. With ok and no Node it was made by Grove for a node whose name was too long to be written.
func OfArray(name, uuid string) (i Identity, ok bool) {
	if at := strings.LastIndex(name, "_"); at > 0 {
		i = Identity{name[:at], name[at+1:]}
	}
	switch uuid = strings.ToLower(uuid); {
	case i.Node != "" && i.UUID(Array) == uuid:
		return i, true
	case len(uuid) == 36 && name == short(uuid):
		return Identity{}, true
	}
	return Identity{}, false
}

// OfGroup gives whose volume group it is, by its tags.
func OfGroup(tags []string) (i Identity, ok bool) {
	for _, t := range tags {
		if c, found := strings.CutPrefix(t, clusterTag); found {
			i.Cluster = c
		}
		if n, found := strings.CutPrefix(t, nodeTag); found {
			i.Node = n
		}
	}
	return i, i.Cluster != "" && i.Node != ""
}

// OfLabel gives the node of this cluster that made a file system or swap, which has room for no more than the node's name.
func OfLabel(cluster, label, uuid string) (i Identity, r Role, ok bool) {
	i = Identity{cluster, label}
	roles := []Role{Data, Log, Journal}
	for _, place := range spec.SwapPlaces {
		roles = append(roles, Swap(place))
	}
	for _, r := range roles {
		if label != "" && strings.EqualFold(i.UUID(r), uuid) {
			return i, r, true
		}
	}
	return Identity{}, "", false
}
