package resolve

import (
	"fmt"
	"regexp"
	"slices"

	"grove/internal/size"
	"grove/internal/spec"
)

// storage fills in what disks become; nil when the recipe names none.
func storage(s spec.Storage) *spec.Storage {
	if len(s.Disks) == 0 {
		return nil
	}
	s.Filesystem = or(s.Filesystem, dataFilesystem)
	if s.Options == nil {
		s.Options = mountOptions
	}
	if s.Raid.Level == "" {
		s.Raid.Level = "none"
	}
	if s.Raid.Chunk == 0 && s.Raid.Level != "none" && s.Raid.Level != "1" {
		s.Raid.Chunk = chunk
	}
	s.Disks = slices.Clone(s.Disks)
	for n := range s.Disks {
		s.Disks[n].Count = max(s.Disks[n].Count, 1)
	}
	return &s
}

var (
	volumeID    = regexp.MustCompile(`^vol-[0-9a-f]{8,17}$`)
	optionForm  = regexp.MustCompile(`^[a-z0-9_]+(=[A-Za-z0-9]+)?$`)
	clusterForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,30}$`)
	uuidForm    = regexp.MustCompile(`^[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$|^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{2}$`)
)

func (r *rules) storage() {
	in, s := r.pair.Recipe, r.pair.Recipe.Storage
	if name := or(in.Cluster, in.Name); !clusterForm.MatchString(name) && (in.Cluster != "" || len(s.Disks) > 0) {
		r.recipe("cluster", "want letters, digits, dots, hyphens and underscores, at most 31, have %q", name)
	}
	if len(s.Disks) == 0 {
		if s.Filesystem != "" || s.Raid != (spec.Raid{}) || s.Volumes != (spec.Volumes{}) || s.Options != nil || s.Rebuild {
			r.recipe("storage.disks", "is missing; nothing else of storage means anything without it")
		}
		return
	}
	oneOf(r.recipe, "storage.filesystem", s.Filesystem, []string{"xfs", "ext4"})
	for n, o := range s.Options {
		if !optionForm.MatchString(o) {
			r.recipe(fmt.Sprintf("storage.options[%d]", n), "want a mount option such as noatime, have %q", o)
		} else if o == "nobarrier" {
			r.recipe(fmt.Sprintf("storage.options[%d]", n), "nobarrier loses acknowledged writes when the power goes")
		}
	}
	r.raid(s, r.disks(s))
	r.volumes(s.Volumes)
}

// disks checks the selectors and gives how many disks they pick.
func (r *rules) disks(s spec.Storage) (count int) {
	seen := map[string]int{}
	for n, d := range s.Disks {
		key := fmt.Sprintf("storage.disks[%d]", n)
		if d == (spec.Selector{Count: d.Count}) {
			r.recipe(key, "picks any disk; want at least one of name, serial, model, bus, size, ebs")
		}
		oneOf(r.recipe, key+".bus", d.Bus, spec.Buses)
		if d.EBS != "" && !volumeID.MatchString(d.EBS) {
			r.recipe(key+".ebs", "want a volume id such as vol-0123456789abcdef0, have %q", d.EBS)
		}
		if d.Count < 0 {
			r.recipe(key+".count", "want 1 or more, have %d", d.Count)
		} else if d.Count > 1 && (d.Name != "" || d.Serial != "" || d.EBS != "") {
			r.recipe(key+".count", "have %d, but a name, serial or volume id is that of one disk", d.Count)
		}
		if first, twice := seen[d.String()]; twice {
			r.recipe(key, "picks the same as storage.disks[%d]", first)
		}
		seen[d.String()] = n
		count += max(d.Count, 1)
	}
	return count
}

func (r *rules) raid(s spec.Storage, disks int) {
	level := s.Raid.Level
	if level == "" {
		level = "none"
	}
	switch least := level.Least(); {
	case disks < least:
		r.recipe("storage.raid.level", "level %s needs at least %d disks, have %d", level, least, disks)
	case level == "none" && disks > 1:
		r.recipe("storage.raid.level", "have %d disks and no level; want 10, 0 or 1", disks)
	case level == "10" && disks%2 != 0:
		r.recipe("storage.raid.level", "level 10 keeps two copies of all; want an even number of disks, have %d", disks)
	}
	if c := s.Raid.Chunk; c != 0 && (c < 4*size.KiB || c > 16*size.MiB || c&(c-1) != 0) {
		r.recipe("storage.raid.chunk", "want a power of two from 4KiB to 16MiB, have %s", c)
	} else if c != 0 && (level == "1" || level == "none") {
		r.recipe("storage.raid.chunk", "goes with level 10 or 0 only")
	}
}

func (r *rules) volumes(v spec.Volumes) {
	if v == (spec.Volumes{}) {
		return
	}
	if v.Data == 0 {
		r.recipe("storage.volumes.data", "is missing; mongod's data needs a volume")
	}
	if all := v.Data + v.Log + v.Journal; all > 100 {
		r.recipe("storage.volumes", "shares add up to %d%%, want at most 100%%", all)
	}
}

func (r *rules) swap() {
	for n, s := range r.pair.Recipe.Swap {
		key := fmt.Sprintf("swap[%d]", n)
		if s.On == "" {
			r.recipe(key+".on", "is missing; want one of state, usb, zram, partition")
		}
		oneOf(r.recipe, key+".on", s.On, spec.SwapPlaces)
		if !slices.Contains(spec.SwapPlaces, s.On) {
			continue
		}
		sized := s.On == "state" || s.On == "zram"
		switch {
		case sized && s.Size < size.MiB:
			r.recipe(key+".size", "have %s, want at least 1MiB", s.Size)
		case !sized && s.Size != 0:
			r.recipe(key+".size", "goes with state and zram only: a stick or partition is taken whole")
		case sized && s.Partition != "":
			r.recipe(key+".partition", "goes with usb and partition only")
		case s.On == "usb" && s.Partition != "" && s.Partition != "all":
			r.recipe(key+".partition", "want all, have %q", s.Partition)
		case s.On == "partition" && !uuidForm.MatchString(s.Partition):
			r.recipe(key+".partition", "want a PARTUUID, have %q", s.Partition)
		}
	}
}
