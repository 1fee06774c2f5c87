package facts

import (
	"fmt"
	"slices"
	"strings"

	"grove/firstboot/plan/identity"
	"grove/internal/size"
)

// Who is the node that looks.
type Who struct {
	identity.Identity         // without a Node nothing is its own yet
	Medium            string  // GUID of the partition table that the node was booted from
	Begun             []Begun // what the journal says was begun and did not come to its end
}

// Begun is a disk that an act of ours was about to write to.
type Begun struct {
	Act    string // its sentence
	Serial string // a disk without one cannot be told from another
	Size   size.Size
}

// Classify gives the disks with their class and the evidence for it. The first class that fits is the disk's, in the order of the constants; facts/storage 2.1.
//
// What can be told of a disk before its file system is mounted is that all on it bears the UUIDs of this node. Whether the seal is there, and so whether
// OursComplete is true of the file system, too, is for whoever mounts it.
func Classify(have Have, who Who) []Disk {
	disks := slices.Clone(have.Disks)
	for n := range disks {
		j := judge{have, who, disks[n]}
		disks[n].Class, disks[n].Evidence = j.class()
	}
	return disks
}

type judge struct {
	have Have
	who  Who
	disk Disk
}

func (j judge) class() (Class, []string) {
	if why := j.system(); why != nil {
		return System, why
	}
	evidence := j.evidence()
	ours, others := j.owners()
	use := j.use()
	switch {
	case use != nil && (!ours || others != nil):
		return Busy, append(use, evidence...)
	case ours && others == nil:
		if act, begun := j.begun(); begun {
			return OursPartial, append(evidence, act+" was begun on it and did not come to its end")
		}
		return OursComplete, append(evidence, use...)
	case others != nil && !ours:
		return OtherNode, append(others, evidence...)
	case ours:
		return Foreign, append(append(evidence, others...), "part of it is ours and part is not")
	}
	if act, begun := j.begun(); begun && !j.disk.Content.Known() && j.disk.Content.Fault == "" {
		return OursPartial, append(evidence, act+" was begun on it and did not come to its end")
	}
	if j.disk.Content.Blank() && len(j.disk.Parts) == 0 && !j.disk.ReadOnly {
		return Blank, evidence
	}
	return Foreign, evidence
}

// systemMounts are where the node runs from.
var systemMounts = []string{"/", "/usr", "/boot", "/state", "/etc", "/var"}

// system says what the node runs from the disk.
func (j judge) system() (why []string) {
	if id := j.disk.Content.TableID; id != "" && strings.EqualFold(id, j.who.Medium) {
		why = append(why, "carries the image that the node was booted from, GPT "+id)
	}
	for _, m := range j.have.Mounts {
		if slices.Contains(systemMounts, m.Target) && j.on(m.Kernel) {
			why = append(why, m.Kernel+" is "+m.Target)
		}
	}
	ours, _ := j.owners()
	for _, s := range j.have.Swaps {
		if name := strings.TrimPrefix(s, "/dev/"); !ours && j.on(name) {
			why = append(why, name+" is swap in use")
		}
	}
	return why
}

// on says that a device is the disk, a partition of it, or built on it.
func (j judge) on(kernel string) bool {
	return kernel != "" && (kernel == j.disk.Name || slices.Contains(j.disk.Holders, kernel) || slices.ContainsFunc(j.disk.Parts, func(p Part) bool { return p.Name == kernel }))
}

// use says who has the disk for themselves.
func (j judge) use() (why []string) {
	for _, m := range j.have.Mounts {
		if j.on(m.Kernel) {
			why = append(why, m.Kernel+" is mounted on "+m.Target)
		}
	}
	if len(j.disk.Holders) > 0 {
		why = append(why, "built on it: "+strings.Join(j.disk.Holders, ", "))
	}
	if j.disk.Held && why == nil {
		why = append(why, "somebody has it open for themselves")
	}
	return why
}

// begun finds the act that was begun on this very disk, by its serial number and size.
func (j judge) begun() (act string, is bool) {
	for _, b := range j.who.Begun {
		if b.Serial != "" && b.Serial == j.disk.Serial && b.Size == j.disk.Size {
			return b.Act, true
		}
	}
	return "", false
}

// owners asks all contents of the disk whose they are. others has a sentence for each that another node has made. A table with partitions is ours
// when all partitions are.
func (j judge) owners() (ours bool, others []string) {
	contents := []Content{j.disk.Content}
	if j.disk.Content.Table != "" && !j.disk.Content.Ambivalent {
		contents = nil
		for _, p := range j.disk.Parts {
			contents = append(contents, p.Content)
		}
	}
	mine, foreign := 0, 0
	for _, c := range contents {
		switch owner, is := j.owner(c); {
		case !is || c.Ambivalent || c.Fault != "":
			foreign++
		case owner == j.who.Identity:
			mine++
		default:
			others = append(others, "made for "+node(owner)+", this is "+j.self())
		}
	}
	if mine > 0 && foreign > 0 && others == nil {
		others = []string{"not all of it is ours"}
	}
	return mine > 0, others
}

// owner is the node that made something; not ok of what no Grove has made, or cannot be proven to have.
func (j judge) owner(c Content) (owner identity.Identity, ok bool) {
	id := j.who.Identity
	if id.Node != "" && slices.Contains(j.uuids(), strings.ToLower(c.UUID)) {
		return id, true
	}
	if c.Member != nil {
		return identity.OfArray(c.Member.Name, c.Member.Array)
	}
	if c.GroupID != "" {
		at := slices.IndexFunc(j.have.Groups, func(g Group) bool { return g.UUID == c.GroupID })
		if at < 0 {
			return identity.Identity{}, false
		}
		owner, ok = identity.OfGroup(j.have.Groups[at].Tags)
		return owner, ok && owner != id // tags of ours on a volume that is not: a copy, or by hand
	}
	owner, _, ok = identity.OfLabel(id.Cluster, c.Label, c.UUID)
	return owner, ok
}

// uuids are all that this node gives to what lies on a disk.
func (j judge) uuids() []string {
	all := []string{j.who.UUID(identity.Array), j.who.PV(), j.who.UUID(identity.Data), j.who.UUID(identity.Log), j.who.UUID(identity.Journal)}
	for _, place := range swapPlaces {
		all = append(all, j.who.UUID(identity.Swap(place)))
	}
	return all
}

func (j judge) self() string {
	if j.who.Node == "" {
		return "a node that has no name yet"
	}
	return node(j.who.Identity)
}

func node(i identity.Identity) string {
	if i.Node == "" {
		return "a node of Grove whose name was too long to be kept"
	}
	return fmt.Sprintf("node %s of cluster %s", i.Node, i.Cluster)
}
