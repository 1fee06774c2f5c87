package elfcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The newest symbol version in the libc6 of Debian's suites, oldest first: glibc 2.31 of bullseye added none of its own.
var suites = []struct{ name, glibc string }{{"bullseye", "2.30"}, {"bookworm", "2.36"}, {"trixie", "2.41"}}

// versions compares what a file wants of its libraries with what they define. A library without any version is taken as it is, by the loader too.
func (c *check) versions(file string, o Object) {
	var glibc []string
	for _, want := range o.Wants {
		library, found := c.tree.Library(file, want.Library, c.arch)
		if !found {
			continue // a missing library is a finding of its own
		}
		gives := c.tree.Objects[library].Gives
		lacks := slices.DeleteFunc(slices.Clone(want.Versions), func(v string) bool { return len(gives) == 0 || slices.Contains(gives, v) })
		if len(lacks) == 0 {
			continue
		}
		if strings.HasPrefix(newest(lacks), "GLIBC_2.") {
			glibc = append(glibc, lacks...)
			continue
		}
		c.add(file, "needs %s of %s; the one in the tree has %s", strings.Join(lacks, ", "), want.Library, brief(gives))
	}
	if glibc != nil {
		// libc.so.6 itself: libm's newest version is an older one.
		libc, _ := c.tree.Library(file, "libc.so.6", c.arch)
		want, have := newest(glibc), strings.TrimPrefix(newest(c.tree.Objects[libc].Gives), "GLIBC_")
		c.add(file, "needs %s, the system's libc6 has up to %s%s", want, cmp.Or(have, "none"), newer(want))
	}
}

func brief(versions []string) string {
	if len(versions) > 4 {
		return "up to " + newest(versions)
	}
	return strings.Join(versions, ", ")
}

// newer names the first suite that would do.
func newer(want string) string {
	for _, s := range suites {
		if compare("GLIBC_"+s.glibc, want) >= 0 {
			return fmt.Sprintf("; a newer suite (%s) would do", s.name)
		}
	}
	return fmt.Sprintf("; no suite up to %s has that", suites[len(suites)-1].name)
}

// newest is the one with the highest number; names without one, such as GLIBC_PRIVATE, come before all others.
func newest(versions []string) string {
	if len(versions) == 0 {
		return ""
	}
	return slices.MaxFunc(versions, compare)
}

func compare(a, b string) int { return slices.Compare(number(a), number(b)) }

// number is 2, 38 for GLIBC_2.38, and nothing where a part is no number.
func number(version string) (parts []int) {
	_, digits, _ := strings.Cut(version, "_")
	for part := range strings.SplitSeq(digits, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		parts = append(parts, n)
	}
	return parts
}
