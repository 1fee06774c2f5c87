package filesystem

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
)

const (
	entry     = 32      // bytes of a folder's entry
	maxFolder = 1 << 21 // bytes of a folder
	pieces    = 13      // UTF-16 units of a long name in an entry
	isFolder  = 0x10
	isLabel   = 0x08
	isLong    = 0x0f
)

// entries is how many entries a folder has: its label, or itself and the one above; then each name.
func (n *node) entries() int {
	total := 2
	if n.above == nil {
		total = 1
	}
	for _, m := range n.inside {
		total += 1 + m.longEntries()
	}
	return total
}

// longEntries is how many entries the name takes beside the short one: none when it is a short name in capitals already.
func (n *node) longEntries() int {
	if _, fits := short(n.name); fits {
		return 0
	}
	return (len(utf16.Encode([]rune(n.name))) + pieces - 1) / pieces
}

// folder is the content of a folder, whole clusters.
func (g geometry) folder(n *node, f FAT) []byte {
	b := make([]byte, 0, int(n.count)*int(g.cluster()))
	date, clock := dosTime(f.Time)
	put := func(name string, attribute byte, first uint32, bytes int64) {
		e := make([]byte, entry)
		le := binary.LittleEndian
		copy(e, name)
		e[11] = attribute
		for _, at := range []int{14, 22} { // made, written
			le.PutUint16(e[at:], clock)
			le.PutUint16(e[at+2:], date)
		}
		le.PutUint16(e[18:], date) // read
		le.PutUint16(e[20:], uint16(first>>16))
		le.PutUint16(e[26:], uint16(first))
		le.PutUint32(e[28:], uint32(bytes))
		b = append(b, e...)
	}
	if n.above == nil {
		put(string(f.label()), isLabel, 0, 0)
	} else {
		above := n.above.first
		if n.above.above == nil {
			above = 0 // the root is called 0 here, whatever its cluster (specification, page 27)
		}
		put(".          ", isFolder, n.first, 0)
		put("..         ", isFolder, above, 0)
	}
	taken := map[string]bool{}
	for _, m := range n.inside {
		if name, fits := short(m.name); fits {
			taken[name] = true
		}
	}
	for _, m := range n.inside {
		name, fits := short(m.name)
		if !fits {
			name = numbered(name, taken)
			taken[name] = true
			b = append(b, long(m.name, name)...)
		}
		if m.folder {
			put(name, isFolder, m.first, 0)
		} else {
			put(name, 0x20, m.first, m.size)
		}
	}
	return b[:cap(b)]
}

// short gives the name in 8 and 3 capitals, padded with spaces, and whether it says the same. Where it doesn't, it still wants a number.
func short(name string) (padded string, fits bool) {
	base, ext := name, ""
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		base, ext = name[:i], name[i+1:]
	}
	b, e := shortPart(base, 8), shortPart(ext, 3)
	if b == "" {
		b = "_"
	}
	return fmt.Sprintf("%-8s%-3s", b, e), b == base && e == ext
}

func shortPart(s string, n int) string {
	var out strings.Builder
	for _, r := range strings.ToUpper(s) {
		switch {
		case r == ' ' || r == '.':
			continue
		case r < 0x80 && (r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'()-@^_`{}~", r)):
			out.WriteRune(r)
		default:
			out.WriteByte('_')
		}
		if out.Len() == n {
			break
		}
	}
	return out.String()
}

// numbered makes a short name that no other has: BOOT~1.CFG.
func numbered(padded string, taken map[string]bool) string {
	base, ext := strings.TrimRight(padded[:8], " "), padded[8:]
	for i := 1; ; i++ {
		tail := fmt.Sprintf("~%d", i)
		name := fmt.Sprintf("%-8s%s", base[:min(len(base), 8-len(tail))]+tail, ext)
		if !taken[name] {
			return name
		}
	}
}

// long gives the entries of a long name, last piece first, with the sum that ties them to the short one.
func long(name, short string) []byte {
	var sum byte
	for i := range 11 {
		sum = sum>>1 | sum<<7
		sum += short[i]
	}
	units := utf16.Encode([]rune(name))
	n := (len(units) + pieces - 1) / pieces
	if len(units)%pieces != 0 {
		units = append(units, 0)
	}
	for len(units)%pieces != 0 {
		units = append(units, 0xffff)
	}
	b := make([]byte, 0, n*entry)
	for i := n; i > 0; i-- {
		e := make([]byte, entry)
		e[0], e[11], e[13] = byte(i), isLong, sum
		if i == n {
			e[0] |= 0x40
		}
		for j, unit := range units[(i-1)*pieces : i*pieces] {
			binary.LittleEndian.PutUint16(e[longPlace[j]:], unit)
		}
		b = append(b, e...)
	}
	return b
}

// longPlace is where a piece's units lie in its entry.
var longPlace = [pieces]int{1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30}

// dosTime gives the two words of a time, in UTC: 1980 to 2107, two seconds apart.
func dosTime(unix int64) (date, clock uint16) {
	t := time.Unix(max(unix, 315532800), 0).UTC()
	date = uint16(t.Year()-1980)<<9 | uint16(t.Month())<<5 | uint16(t.Day())
	return date, uint16(t.Hour())<<11 | uint16(t.Minute())<<5 | uint16(t.Second()/2)
}
