package filesystem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"

	"grove/internal/size"
)

// Entry is a file found in a FAT32 file system.
type Entry struct {
	Path  string
	Size  size.Size
	first uint32
	from  *reader
}

// ReadFAT lists the files of the FAT32 file system at start, also one that another system has changed since: go-diskfs 1.9.4 stumbles over empty
// files. Folders are left out.
func ReadFAT(r io.ReaderAt, start size.Size) (FAT, []Entry, error) {
	from, f, root, err := openFAT(r, start)
	if err != nil {
		return FAT{}, nil, fmt.Errorf("read FAT at %s: %w", start, err)
	}
	files, err := from.list("", root, 0)
	if err != nil {
		return FAT{}, nil, fmt.Errorf("read FAT at %s: %w", start, err)
	}
	return f, files, nil
}

// Read gives the whole content of a file.
func (e Entry) Read() ([]byte, error) {
	b, err := e.from.read(e.first, int64(e.Size))
	if err != nil {
		return nil, fmt.Errorf("read %s of FAT: %w", e.Path, err)
	}
	return b, nil
}

// reader holds the first FAT.
type reader struct {
	r     io.ReaderAt
	start int64 // of the file system
	g     geometry
	table []byte
}

func openFAT(r io.ReaderAt, start size.Size) (*reader, FAT, uint32, error) {
	b := make([]byte, sector)
	if _, err := r.ReadAt(b, int64(start)); err != nil {
		return nil, FAT{}, 0, err
	}
	le := binary.LittleEndian
	g := geometry{total: le.Uint32(b[32:]), reserved: uint32(le.Uint16(b[14:])), fat: le.Uint32(b[36:]), per: uint32(b[13])}
	head := uint64(g.reserved) + 2*uint64(g.fat)
	if b[510] != 0x55 || b[511] != 0xaa || le.Uint16(b[11:]) != sector || b[16] != 2 || g.per == 0 || g.per&(g.per-1) != 0 || head >= uint64(g.total) {
		return nil, FAT{}, 0, errors.New("no FAT32 with sectors of 512 bytes and two FATs")
	}
	g.clusters = (g.total - uint32(head)) / g.per
	if g.clusters < 65525 || uint64(g.clusters)+2 > uint64(g.fat)*sector/4 {
		return nil, FAT{}, 0, fmt.Errorf("%d clusters in a FAT of %d sectors are no FAT32", g.clusters, g.fat)
	}
	table := make([]byte, (int64(g.clusters)+2)*4)
	if _, err := r.ReadAt(table, int64(start)+int64(g.reserved)*sector); err != nil {
		return nil, FAT{}, 0, err
	}
	f := FAT{Label: strings.TrimRight(string(b[71:82]), " "), ID: le.Uint32(b[67:]), Start: start, Size: size.Size(g.total) * sector}
	return &reader{r, int64(start), g, table}, f, le.Uint32(b[44:]), nil
}

// read gives the first bytes of a chain, all of it, a folder, when bytes is below 0.
func (r *reader) read(first uint32, bytes int64) ([]byte, error) {
	var out []byte
	each := int64(r.g.cluster())
	for at := first; (bytes < 0 || int64(len(out)) < bytes) && at < 0x0ffffff8; {
		if at < 2 || at-2 >= r.g.clusters || bytes < 0 && len(out) > maxFolder {
			return nil, fmt.Errorf("chain of clusters leads to %d", at)
		}
		out = append(out, make([]byte, each)...)
		if _, err := r.r.ReadAt(out[int64(len(out))-each:], r.start+r.g.offset(at)); err != nil {
			return nil, err
		}
		at = binary.LittleEndian.Uint32(r.table[at*4:]) & 0x0fffffff
	}
	if bytes < 0 {
		return out, nil
	}
	if int64(len(out)) < bytes {
		return nil, io.ErrUnexpectedEOF
	}
	return out[:bytes], nil
}

// list gives the files of a folder and of those in it.
func (r *reader) list(path string, first uint32, depth int) (files []Entry, err error) {
	if depth > 32 {
		return nil, fmt.Errorf("folder %s lies more than 32 deep", path)
	}
	b, err := r.read(first, -1)
	if err != nil {
		return nil, fmt.Errorf("folder %s: %w", path, err)
	}
	le := binary.LittleEndian
	var long []uint16
	for ; len(b) >= entry && b[0] != 0; b = b[entry:] {
		e := b[:entry]
		switch attribute := e[11]; {
		case e[0] == 0xe5: // deleted
			long = nil
		case attribute&0x3f == isLong:
			var units []uint16
			for _, at := range longPlace {
				units = append(units, le.Uint16(e[at:]))
			}
			long = append(units, long...) // the last piece comes first
		case attribute&isLabel != 0 || e[0] == '.':
			long = nil
		default:
			name := path + nameOf(e, long)
			long = nil
			first := uint32(le.Uint16(e[20:]))<<16 | uint32(le.Uint16(e[26:]))
			if attribute&isFolder == 0 {
				files = append(files, Entry{name, size.Size(le.Uint32(e[28:])), first, r})
				continue
			}
			inside, err := r.list(name+"/", first, depth+1)
			if err != nil {
				return nil, err
			}
			files = append(files, inside...)
		}
	}
	return files, nil
}

// nameOf is the long name if there is one, else the short one, with the case that Windows keeps in byte 12.
func nameOf(e []byte, long []uint16) string {
	for i, unit := range long {
		if unit == 0 {
			long = long[:i]
			break
		}
	}
	if len(long) > 0 {
		return string(utf16.Decode(long))
	}
	base, ext := strings.TrimRight(string(e[:8]), " "), strings.TrimRight(string(e[8:11]), " ")
	if e[12]&0x08 != 0 {
		base = strings.ToLower(base)
	}
	if e[12]&0x10 != 0 {
		ext = strings.ToLower(ext)
	}
	if ext == "" {
		return base
	}
	return base + "." + ext
}
