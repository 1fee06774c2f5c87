package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"grove/internal/host"
	"grove/internal/partition"
	"grove/internal/size"
)

// Mounted is a state partition in use. Did says what was changed, nothing on every boot but the first; Problems what could not be, without which the node
// still serves.
type Mounted struct {
	Dev           string
	Did, Problems []string
}

func (m *Mounted) note(did string, err error) {
	if did != "" {
		m.Did = append(m.Did, did)
	}
	if err != nil {
		m.Problems = append(m.Problems, err.Error())
	}
}

// MountState makes the state partition fill the medium, mounts it on target, and makes its file system fill the partition. Each part looks first: the
// second time nothing is written. A partition that does not mount is left as it is.
func MountState(machine host.Machine, m Medium, target string) (Mounted, error) {
	dev, _, err := m.Partition(State)
	if err != nil {
		return Mounted{}, err
	}
	now := Mounted{Dev: dev}
	grown, changed, err := partition.Grow(m.Table, m.Size)
	now.note("", err)
	if changed {
		now.note(writeTable(m, grown))
	}
	now.note(growPartition(machine, m, dev, grown))
	if _, mounted := machine.Mounted(target); !mounted {
		if err := machine.Mount(host.Mount{Source: dev, Target: target, Type: "ext4"}); err != nil {
			return now, errors.Join(err, whatIsWrong(dev))
		}
	}
	now.note(growFileSystem(machine, m, dev, target))
	return now, nil
}

// whatIsWrong adds what can be seen of a partition that does not mount: the kernel says no more than "invalid argument".
func whatIsWrong(dev string) error {
	f, err := os.Open(dev)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = readExt4(f)
	return err
}

func writeTable(m Medium, grown partition.Table) (did string, err error) {
	f, err := os.OpenFile(m.Dev(), os.O_RDWR, 0)
	if err != nil {
		return "", fmt.Errorf("write the partition table: %w", err)
	}
	if err := errors.Join(partition.Write(f, grown), f.Close()); err != nil {
		return "", err
	}
	return fmt.Sprintf("partition table of %s written anew for %s", m.Name, m.Size.Short()), nil
}

// growPartition goes by what the kernel holds the partition for, not by what was just written: an agent that ended between the two is made up for.
func growPartition(machine host.Machine, m Medium, dev string, grown partition.Table) (did string, err error) {
	have, err := m.length(dev)
	if err != nil {
		return "", fmt.Errorf("grow partition %s: %w", State, err)
	}
	want, _ := grown.Find(State)
	if want.Size <= have {
		return "", nil
	}
	if err := machine.ResizePartition(m.Dev(), want.Number, want.Start, want.Size); err != nil {
		return "", err
	}
	return fmt.Sprintf("partition %s grown from %s to %s", State, have.Short(), want.Size.Short()), nil
}

// spare is what a grown ext4 may leave over: a last block group that would hold little more than its own tables is not made.
const spare = 16 * size.MiB

// growFileSystem works on the mounted file system: the kernel's superblock is what the device shows.
func growFileSystem(machine host.Machine, m Medium, dev, target string) (did string, err error) {
	f, err := os.Open(dev)
	if err != nil {
		return "", fmt.Errorf("grow ext4 on %s: %w", target, err)
	}
	defer f.Close()
	have, err := readExt4(f)
	if err != nil {
		return "", fmt.Errorf("grow ext4 on %s: %w", target, err)
	}
	room, err := m.length(dev)
	if err != nil || room-have.size() < spare {
		return "", err
	}
	if err := machine.ResizeExt4(target, int64(room/have.block)); err != nil {
		return "", err
	}
	return fmt.Sprintf("ext4 grown from %s to %s", have.size().Short(), room.Short()), nil
}

// ext4 is what counts of a superblock: Documentation/filesystems/ext4/super.rst.
type ext4 struct {
	blocks int64
	block  size.Size
}

func (e ext4) size() size.Size { return size.Size(e.blocks) * e.block }

func readExt4(r io.ReaderAt) (ext4, error) {
	b := make([]byte, 1024)
	if _, err := r.ReadAt(b, 1024); err != nil {
		return ext4{}, fmt.Errorf("read the superblock: %w", err)
	}
	if binary.LittleEndian.Uint16(b[0x38:]) != 0xef53 {
		return ext4{}, errors.New("read the superblock: no ext4")
	}
	const bits64 = 0x80 // of the incompatible features: block numbers have an upper half
	blocks := int64(binary.LittleEndian.Uint32(b[0x4:]))
	if binary.LittleEndian.Uint32(b[0x60:])&bits64 != 0 {
		blocks |= int64(binary.LittleEndian.Uint32(b[0x150:])) << 32
	}
	log := binary.LittleEndian.Uint32(b[0x18:])
	if log > 6 || blocks <= 0 || blocks > 1<<48 {
		return ext4{}, fmt.Errorf("read the superblock: %d blocks of 2^%d KiB", blocks, log)
	}
	return ext4{blocks, size.KiB << log}, nil
}
