// Package elfcheck tells whether the programs of a tree can start on a board: right processor, loader, libraries and symbol versions.
//
// The rules are those of glibc's loader (elf/dl-load.c, elf/dl-version.c), for a root where the tree is mounted at /usr, /lib and /bin are links into it,
// and there is no ld.so.cache. Not looked at: single symbols, libraries opened by dlopen, and the variants in glibc-hwcaps, which are optional. Read and
// Scan look at files; everything else decides over what they saw.
package elfcheck

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"grove/internal/diag"
	"grove/internal/spec"
)

// Tree is what a folder holds, by paths such as `bin/mongod`. Other files than these are left out.
type Tree struct {
	Objects map[string]Object // ELF files
	Links   map[string]string // symbolic links and their targets, as they stand
}

// Check gives what is wrong with the tree on a board of this arch, in the order of the files. advise says what to do about a library that is missing, or nothing.
func Check(t Tree, arch spec.Arch, advise func(soname string) string) diag.Findings {
	c := check{tree: t, arch: arch, advise: advise, files: map[string][]string{}, asked: map[string]string{}}
	for _, file := range slices.Sorted(maps.Keys(t.Objects)) {
		c.file(file, t.Objects[file])
	}
	return c.findings()
}

// Missing lists the libraries that are needed and not on the library path, sorted.
func Missing(t Tree, arch spec.Arch) []string {
	all := map[string]bool{}
	for file, o := range t.Objects {
		for _, soname := range o.Needed {
			if _, found := t.Library(file, soname, arch); !found {
				all[soname] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Multiarch is Debian's folder name of an architecture: `x86_64-linux-gnu`.
func Multiarch(arch spec.Arch) string {
	return map[spec.Arch]string{spec.AMD64: "x86_64-linux-gnu", spec.ARM64: "aarch64-linux-gnu", spec.ARMHF: "arm-linux-gnueabihf"}[arch]
}

// Library finds what the loader would take when file asks for soname. The order is the loader's; Debian's built-in path is the multiarch folder, then
// lib (`ld.so --list-diagnostics`, path.system_dirs).
func (t Tree) Library(file, soname string, arch spec.Arch) (string, bool) {
	if strings.Contains(soname, "/") {
		return t.object(soname)
	}
	for _, dir := range t.Objects[file].Path {
		for _, origin := range []string{"$ORIGIN", "${ORIGIN}"} {
			dir = strings.ReplaceAll(dir, origin, "/"+path.Dir(file))
		}
		if found, ok := t.object(path.Join(dir, soname)); ok {
			return found, true
		}
	}
	for _, dir := range []string{path.Join("lib", Multiarch(arch)), "lib"} {
		if found, ok := t.object(path.Join(dir, soname)); ok {
			return found, true
		}
	}
	return "", false
}

// object follows links, in folders on the way too, to an ELF file of the tree.
func (t Tree) object(p string) (string, bool) {
	rest := strings.Split(inTree(p), "/")
	var done string
	for hops := 0; len(rest) > 0; {
		at := path.Join(done, rest[0])
		rest = rest[1:]
		target, isLink := t.Links[at]
		if !isLink {
			done = at
			continue
		}
		if hops++; hops > 40 { // the kernel's own limit
			return "", false
		}
		rest = append(strings.Split(Follow(at, target), "/"), rest...)
		done = ""
	}
	_, found := t.Objects[done]
	return done, found
}

// Follow gives the path in the tree that the link at a path of the tree leads to, by one step.
func Follow(link, target string) string {
	if !path.IsAbs(target) {
		target = path.Join(path.Dir(link), target)
	}
	return inTree(target)
}

// inTree maps a path of the running system to the tree: `/usr/lib/x` and `/lib/x` are both `lib/x`.
func inTree(p string) string {
	p = strings.TrimPrefix(path.Clean("/"+p), "/")
	return strings.TrimPrefix(p, "usr/")
}

type check struct {
	tree   Tree
	arch   spec.Arch
	advise func(string) string
	asked  map[string]string   // of advise so far
	texts  []string            // in the order of their first file
	files  map[string][]string // by text
}

func (c *check) add(file, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if c.files[text] == nil {
		c.texts = append(c.texts, text)
	}
	c.files[text] = append(c.files[text], file)
}

// findings makes one of each text: an old glibc would otherwise be reported for every file of the tree.
func (c *check) findings() (all diag.Findings) {
	for _, text := range c.texts {
		files := c.files[text]
		if more := len(files) - 1; more == 1 {
			text += "; so does " + files[1]
		} else if more > 1 {
			text += fmt.Sprintf("; so do %d more files", more)
		}
		all = append(all, diag.Finding{Place: diag.Place{File: files[0]}, Text: text})
	}
	return all
}

func (c *check) file(file string, o Object) {
	if o.Arch != string(c.arch) {
		c.add(file, "is for %s, the board is %s", o.Arch, c.arch)
		return
	}
	if o.Interp != "" {
		if _, found := c.tree.object(o.Interp); !found {
			c.add(file, "wants the loader %s, which is not there%s", o.Interp, c.who(path.Base(o.Interp)))
		}
	}
	for _, soname := range o.Needed {
		if _, found := c.tree.Library(file, soname, c.arch); !found {
			c.add(file, "needs %s, which is not on the library path%s", soname, c.who(soname))
		}
	}
	c.versions(file, o)
}

// who asks once a library: the answer may be a search through a list of all of Debian's files.
func (c *check) who(soname string) string {
	advice, asked := c.asked[soname]
	if !asked {
		if advice = c.advise(soname); advice != "" {
			advice = "; " + advice
		}
		c.asked[soname] = advice
	}
	return advice
}
