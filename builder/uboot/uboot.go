// Package uboot looks into U-Boot for Allwinner's SoCs, SPL and U-Boot proper in one file, before it goes into an image: that it is whole, and this board's.
//
// The SPL begins with the header that the boot ROM reads (u-boot, include/sunxi_image.h), words of 4 bytes, little-endian:
//
//	 4  "eGON.BT0"
//	12  checksum: the sum of all words of the SPL, with 0x5f0a6c39 in the place of the checksum itself
//	16  length of the SPL in bytes
//	20  "SPL" and a version; from 2 on there is
//	32  the place of the device tree's name in the SPL: in the rest of the header, from 44 on
//
// U-Boot proper lies right behind. Another board's U-Boot may well start, and then set the memory's clock or the network's timing to what this board can't bear; the device
// tree's name is what tells them apart.
package uboot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"

	"grove/internal/size"
	"grove/internal/spec"
)

// Place is where the boot ROM looks for the SPL on an SD card: sector 16 (u-boot, doc/board/allwinner/sunxi.rst). The A20's looks nowhere else.
const Place = 8 * size.KiB

// Loader is what a file's SPL says of itself.
type Loader struct {
	Bytes      size.Size // of the whole file
	SPL        size.Size
	DeviceTree string // sun7i-a20-pcduino3-nano; empty when it does not say
}

const (
	magic  = "eGON.BT0"
	stamp  = 0x5f0a6c39
	pool   = 44 // of names, the rest of the header
	header = 96
	most   = 4 * size.MiB
)

// Parse reads a file's header and adds up its SPL. The file may be longer: what follows is another's.
func Parse(file []byte) (Loader, error) {
	if len(file) < header || string(file[4:12]) != magic {
		return Loader{}, errors.New("it has no SPL for Allwinner: want " + magic + " at byte 4")
	}
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(file[at:]) }
	length := word(16)
	if length < header || length%4 != 0 || uint64(length) > uint64(len(file)) {
		return Loader{}, fmt.Errorf("its SPL has %d bytes by its header, the file %d", length, len(file))
	}
	sum := uint32(stamp)
	for at := 0; at < int(length); at += 4 {
		if at != 12 {
			sum += word(at)
		}
	}
	if sum != word(12) {
		return Loader{}, fmt.Errorf("its SPL is damaged: have the checksum %08x, want %08x", sum, word(12))
	}
	l := Loader{Bytes: size.Size(len(file)), SPL: size.Size(length)}
	if string(file[20:23]) == "SPL" && file[23] >= 2 {
		if at := word(32); at >= pool && at < length {
			name, _, _ := bytes.Cut(file[at:length], []byte{0})
			l.DeviceTree = string(name)
		}
	}
	return l, nil
}

// Read takes a file that is this board's.
func Read(path string, board spec.Board) ([]byte, Loader, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, Loader{}, err
	}
	if info.Size() > int64(most) {
		return nil, Loader{}, fmt.Errorf("%s is no U-Boot: have %s, want at most %s", path, size.Size(info.Size()).Short(), most)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, Loader{}, err
	}
	l, err := Parse(file)
	if err != nil {
		return nil, l, fmt.Errorf("%s: %w", path, err)
	}
	return file, l, l.fits(path, board)
}

// fits refuses a U-Boot of another board.
func (l Loader) fits(path string, board spec.Board) error {
	want := board.UBoot.DeviceTree
	if l.DeviceTree == want {
		return nil
	}
	have := l.DeviceTree
	if have == "" {
		have = "a board that it does not name"
	}
	text := fmt.Sprintf("%s is U-Boot for %s, %s wants one for %s", path, have, board.Name, want)
	if board.UBoot.Wrong != "" {
		text += ": " + strings.TrimSpace(board.UBoot.Wrong)
	}
	return errors.New(text + "; scripts/build-uboot makes it")
}
