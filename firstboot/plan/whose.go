package plan

import (
	"grove/firstboot/facts"
	"grove/firstboot/journal"
	"grove/firstboot/plan/act"
	"grove/firstboot/plan/identity"
	"grove/internal/size"
)

// Whose is the identity that a node has to its disks. One that was given its name holds to it, and so finds that its disks are another's when it gets a new one;
// one that is named by DHCP or by an address is who it was when it made them: an answer may come late, or a network card be replaced.
func Whose(now identity.Identity, given bool, records []journal.Record) identity.Identity {
	if given || now.Node == "" {
		return now
	}
	for n := len(records) - 1; n >= 0; n-- {
		if r := records[n]; r.Cluster == now.Cluster && r.Node != "" {
			return identity.Identity{Cluster: r.Cluster, Node: r.Node}
		}
	}
	return now
}

// Begun are the disks on which the last act of the journal did not come to its end, that of storage and that of swap: all before them did.
func Begun(records []journal.Record) (begun []facts.Begun) {
	var storage, swap bool
	for n := len(records) - 1; n >= 0; n-- {
		r := records[n]
		seen := &swap
		if stage(act.Kind(r.Kind)) > 0 {
			seen = &storage
		}
		if !*seen && !r.Done {
			for _, d := range r.Disks {
				begun = append(begun, facts.Begun{Act: r.Name, Serial: d.Serial, Size: size.Size(d.Size)})
			}
		}
		*seen = true
	}
	return begun
}
