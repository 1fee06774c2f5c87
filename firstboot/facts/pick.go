package facts

import (
	"fmt"
	"slices"
	"strings"

	"grove/internal/spec"
)

// Pick gives the disks that the selectors find, in their order, each disk once. What a selector lacks is in missing, with Count the number that it lacks; one that
// finds too many picks none, and unclear has a sentence for it: to choose among them would be to guess which of two disks may be written to.
//
// Names, serial numbers and volume ids go first, whatever their place, so that `any SATA disk` does not take the one that another line names. The node's own
// medium is never picked: not by name, which is said, and not by what else is true of it.
func Pick(disks []Disk, selectors []spec.Selector) (picked []Disk, missing []spec.Selector, unclear []string) {
	by := make([][]Disk, len(selectors))
	lack := make([]int, len(selectors))
	taken := map[string]bool{}
	for _, exact := range []bool{true, false} {
		for n, s := range selectors {
			if exact != (s.Name != "" || s.Serial != "" || s.EBS != "") {
				continue
			}
			found, system := matching(disks, s, taken)
			want := max(s.Count, 1)
			switch {
			case len(found) > want:
				unclear = append(unclear, fmt.Sprintf("%s finds %d disks, want %d: %s", s, len(found), want, Visible(found)))
				continue
			case exact && system != nil && len(found) == 0:
				unclear = append(unclear, fmt.Sprintf("%s is %s, the disk that the node runs from, which cannot be picked: %s", s, system.Name, strings.Join(system.Evidence, "; ")))
				continue
			}
			by[n], lack[n] = found, want-len(found)
			for _, d := range found {
				taken[d.Name] = true
			}
		}
	}
	for n, s := range selectors {
		picked = append(picked, by[n]...)
		if s.Count = lack[n]; s.Count > 0 {
			missing = append(missing, s)
		}
	}
	return picked, missing, unclear
}

func matching(disks []Disk, s spec.Selector, taken map[string]bool) (found []Disk, system *Disk) {
	for _, d := range disks {
		switch {
		case taken[d.Name] || !matches(d, s):
		case d.Class == System:
			system = &d
		default:
			found = append(found, d)
		}
	}
	return found, system
}

func matches(d Disk, s spec.Selector) bool {
	name := strings.TrimPrefix(s.Name, "/dev/")
	return (name == "" || slices.Contains(d.Names, name)) && (s.Serial == "" || s.Serial == d.Serial) && (s.Model == "" || s.Model == d.Model) &&
		(s.Bus == "" || s.Bus == d.Bus) && (s.Size == 0 || s.Size == d.Size) && (s.EBS == "" || s.EBS == d.EBS)
}
