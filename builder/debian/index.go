package debian

import (
	"fmt"
	"slices"
	"strings"

	"pault.ag/go/debian/version"

	"grove/builder/debian/table"
	"grove/internal/size"
)

// Index is all packages of the suites that could be read.
type Index struct {
	Warnings []string // what was left out or is old, for a person

	client Client
	tables []*tables
}

// versions gives the packages of this name, the highest version first; of equal ones that of the earlier suite.
func (x *Index) versions(name string) ([]Package, error) {
	var found []Package
	for _, t := range x.tables {
		same, err := t.Packages(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.suite, err)
		}
		for _, p := range same {
			found = append(found, Package{
				Name: p.Name, Version: p.Version, Arch: p.Arch, Source: p.Source, Suite: t.suite,
				Filename: p.Filename, Size: size.Size(p.Size), SHA256: p.SHA256, depends: p.Depends,
			})
		}
	}
	slices.SortStableFunc(found, func(a, b Package) int { return compare(b.Version, a.Version) })
	return found, nil
}

// providers of a virtual package, by name.
func (x *Index) providers(virtual string) []table.Provider {
	var found []table.Provider
	for _, t := range x.tables {
		found = append(found, t.Providers(virtual)...)
	}
	slices.SortStableFunc(found, func(a, b table.Provider) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// names of all packages, for a near one.
func (x *Index) names() []string {
	var all []string
	for _, t := range x.tables {
		all = append(all, t.Names()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// compare orders two versions as dpkg does; what is no version comes before what is.
func compare(a, b string) int {
	va, errA := version.Parse(a)
	vb, errB := version.Parse(b)
	switch {
	case errA != nil && errB != nil:
		return strings.Compare(a, b)
	case errA != nil:
		return -1
	case errB != nil:
		return 1
	}
	return version.Compare(va, vb)
}
