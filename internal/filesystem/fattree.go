package filesystem

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"unicode/utf16"

	"grove/internal/size"
)

// node is a file or folder with its place: count clusters from first; none for an empty file.
type node struct {
	path, name   string
	folder       bool
	file         File
	size         int64
	above        *node
	inside       []*node // by name
	first, count uint32
}

// walk visits folders before what is in them, by name.
func (n *node) walk(see func(*node)) {
	see(n)
	for _, m := range n.inside {
		m.walk(see)
	}
}

// tree makes the folders that the paths name, and gives all that is wrong with them.
func tree(files []File) (*node, error) {
	root := &node{folder: true}
	spelt := map[string]*node{} // by path in lower case
	var faults []error
	for _, f := range files {
		n, err := enter(root, spelt, f)
		if err == nil && n.file.From != "" {
			err = n.measure()
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("put %s into FAT: %w", f.Path, err))
		}
	}
	root.walk(func(n *node) {
		sort.Slice(n.inside, func(i, j int) bool { return n.inside[i].name < n.inside[j].name })
	})
	return root, errors.Join(faults...)
}

// enter adds a file and the folders above it. FAT doesn't tell upper from lower case, so neither may differ by it alone.
func enter(root *node, spelt map[string]*node, f File) (*node, error) {
	at, names := root, strings.Split(f.Path, "/")
	for i, name := range names {
		path := strings.Join(names[:i+1], "/")
		if err := checkName(name); err != nil {
			return nil, err
		}
		key, last := strings.ToLower(path), i == len(names)-1
		old := spelt[key]
		switch {
		case old == nil:
			n := &node{path: path, name: name, folder: !last, above: at}
			at.inside = append(at.inside, n)
			spelt[key] = n
			old = n
		case old.path != path:
			return nil, fmt.Errorf("%s is there too, and FAT doesn't tell them apart", old.path)
		case last || !old.folder:
			return nil, fmt.Errorf("%s is there already", old.path)
		}
		at = old
	}
	at.file, at.size = f, int64(len(f.Data))
	return at, nil
}

// measure takes the size of the file that is copied.
func (n *node) measure() error {
	info, err := os.Stat(n.file.From)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", n.file.From)
	}
	if n.size = info.Size(); n.size >= 1<<32 {
		return fmt.Errorf("%s has %s, a file in FAT is smaller than 4 GiB", n.file.From, size.Size(n.size).Short())
	}
	return nil
}

// checkName allows what Windows, Linux, U-Boot and GRUB all open.
func checkName(name string) error {
	const bad = `"*/:<>?\|`
	units := len(utf16.Encode([]rune(name)))
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("%q is no name", name)
	case units > 255:
		return fmt.Errorf("name has %d UTF-16 units, want at most 255", units)
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") || strings.HasPrefix(name, " "):
		return fmt.Errorf("name %q starts with a space, or ends with one or a dot", name)
	case strings.ContainsAny(name, bad) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '�' }):
		return fmt.Errorf("name %q has one of %s, a control character or bytes that are no UTF-8", name, bad)
	}
	return nil
}

// need is the number of clusters that a tree takes; it sets each node's count.
func (g geometry) need(root *node) (total uint64) {
	root.walk(func(n *node) {
		bytes := n.size
		if n.folder {
			bytes = int64(n.entries()) * entry
		}
		n.count = uint32((bytes + int64(g.cluster()) - 1) / int64(g.cluster()))
		total += uint64(n.count)
	})
	return total
}

// place gives each node its clusters, one after the other, and the first free one.
func (g geometry) place(root *node) (next uint32, err error) {
	if need := g.need(root); need > uint64(g.clusters) {
		return 0, fmt.Errorf("files need %s, FAT32 of %s has room for %s", (size.Size(need) * g.cluster()).Short(),
			size.Size(g.total)*sector, (size.Size(g.clusters) * g.cluster()).Short())
	}
	next = 2
	root.walk(func(n *node) {
		if n.folder && n.entries()*entry > maxFolder {
			err = fmt.Errorf("folder %s has %d files, too many for FAT", n.path, len(n.inside))
		}
		if n.count > 0 {
			n.first = next
			next += n.count
		}
	})
	return next, err
}
