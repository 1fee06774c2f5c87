package artifact

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"grove/builder/uboot"
	"grove/internal/filesystem"
	"grove/internal/partition"
	"grove/internal/size"
)

// Inspection is what is found in an image by looking at its bytes, without its manifest.
type Inspection struct {
	Disk       string    `json:"disk"` // GUID, or the signature of an MBR
	Size       size.Size `json:"size"`
	Damaged    bool      `json:"damaged"` // the table at the start; its backup was read
	Loaders    []string  `json:"loaders"` // of BIOS, of UEFI, of Allwinner's boot ROM
	Partitions []Content `json:"partitions"`
}

// Content is a partition with what lies in it.
type Content struct {
	partition.Partition
	Holds string               `json:"holds"` // empty, FAT32 GROVE-BOOT, squashfs, ...
	Used  size.Size            `json:"used"`
	Files map[string]size.Size `json:"files,omitempty"` // sizes by path, of FAT
}

// Inspect looks into the image.
func (a Artifact) Inspect() (Inspection, error) {
	f, err := os.Open(a.Path)
	if err != nil {
		return Inspection{}, fmt.Errorf("inspect the image: %w", err)
	}
	defer f.Close()
	table, err := partition.ReadMBR(f, a.Size)
	if err != nil { // that of a GPT is none
		table, err = partition.Read(f, a.Size)
	}
	if err != nil {
		return Inspection{}, fmt.Errorf("inspect %s: %w", a.Path, err)
	}
	in := Inspection{Disk: table.Disk, Size: a.Size, Damaged: table.FromBackup}
	for _, p := range table.Partitions {
		c, err := look(f, p)
		if err != nil {
			return Inspection{}, fmt.Errorf("inspect %s: partition %s: %w", a.Path, p.Name, err)
		}
		in.Partitions = append(in.Partitions, c)
	}
	in.Loaders, err = loaders(f, in.Partitions)
	if err != nil {
		return Inspection{}, fmt.Errorf("inspect %s: %w", a.Path, err)
	}
	return in, nil
}

// look knows the file systems by their magic numbers.
func look(f io.ReaderAt, p partition.Partition) (Content, error) {
	c := Content{Partition: p, Holds: "empty"}
	head := make([]byte, 4096)
	if _, err := f.ReadAt(head, int64(p.Start)); err != nil && !errors.Is(err, io.EOF) {
		return c, err
	}
	le := binary.LittleEndian
	switch part := io.NewSectionReader(f, int64(p.Start), int64(p.Size)); {
	case bytes.Equal(head, make([]byte, len(head))):
	case bytes.Equal(head[:4], []byte("hsqs")):
		compression := []string{"gzip", "lzma", "lzo", "xz", "lz4", "zstd"}
		c.Holds, c.Used = "squashfs", size.Size(le.Uint64(head[40:]))
		if id := int(le.Uint16(head[20:])); id >= 1 && id <= len(compression) {
			c.Holds += ", " + compression[id-1]
		}
	case le.Uint16(head[1024+0x38:]) == 0xef53:
		used, err := filesystem.Ext4Used(part)
		if err != nil {
			return c, err
		}
		for _, piece := range used {
			c.Used += size.Size(piece.Size)
		}
		c.Holds = "ext4 " + string(bytes.TrimRight(head[1024+0x78:][:16], "\x00"))
	case string(head[82:90]) == "FAT32   ":
		fat, entries, err := filesystem.ReadFAT(f, p.Start)
		if err != nil {
			return c, err
		}
		c.Holds, c.Files = "FAT32 "+fat.Label, map[string]size.Size{}
		for _, e := range entries {
			c.Files[e.Path] = e.Size
			c.Used += e.Size
		}
	default:
		c.Holds = "data"
	}
	return c, nil
}

// loaders finds GRUB for BIOS by following its boot code to the core, the one for UEFI by its name, and U-Boot where Allwinner's boot ROM looks for it.
func loaders(f io.ReaderAt, parts []Content) (found []string, err error) {
	code := make([]byte, 512)
	if _, err := f.ReadAt(code, 0); err != nil {
		return nil, err
	}
	if at := int64(binary.LittleEndian.Uint64(code[0x5c:])) * 512; bytes.Contains(code[:440], []byte("GRUB")) {
		for _, p := range parts {
			if size.Size(at) == p.Start {
				found = append(found, "BIOS: GRUB, core in "+p.Name)
			}
		}
	}
	for _, p := range parts {
		for _, path := range slices.Sorted(maps.Keys(p.Files)) {
			if strings.HasPrefix(path, "EFI/BOOT/") {
				found = append(found, "UEFI: "+path+" in "+p.Name)
			}
		}
	}
	if len(parts) > 0 && parts[0].Start > uboot.Place {
		rest := make([]byte, parts[0].Start-uboot.Place)
		if _, err := f.ReadAt(rest, int64(uboot.Place)); err != nil {
			return nil, err
		}
		if l, err := uboot.Parse(rest); err == nil {
			found = append(found, fmt.Sprintf("Allwinner: U-Boot for %s, SPL of %s at %s", l.DeviceTree, l.SPL.Short(), uboot.Place))
		}
	}
	return found, nil
}
