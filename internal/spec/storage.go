package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// Storage is what blank disks become: an array of them, volumes on it or one file system, mounted on /data, /log and /journal.
type Storage struct {
	Disks      []Selector `yaml:"disks" json:"disks"`
	Raid       Raid       `yaml:"raid" json:"raid"`
	Volumes    Volumes    `yaml:"volumes" json:"volumes"`       // none: one file system, on /data
	Filesystem string     `yaml:"filesystem" json:"filesystem"` // ext4 or xfs
	Options    []string   `yaml:"options" json:"options"`       // of mount: noatime, noexec
	Rebuild    bool       `yaml:"rebuild" json:"rebuild"`       // a blank disk in the place of a lost one is taken into a degraded array without asking
}

// Selector picks disks by what is true of them; a bare text is a name. What is left empty is not asked.
type Selector struct {
	Name   string `yaml:"name,omitempty" json:"name,omitempty"`     // as the cloud gives it: xvdb, also written sdb or /dev/xvdb
	Serial string `yaml:"serial,omitempty" json:"serial,omitempty"` // whole
	Model  string `yaml:"model,omitempty" json:"model,omitempty"`   // whole
	Bus    string `yaml:"bus,omitempty" json:"bus,omitempty"`       // one of Buses
	Size   Size   `yaml:"size,omitempty" json:"size,omitempty"`     // exact
	EBS    string `yaml:"ebs,omitempty" json:"ebs,omitempty"`       // volume id: vol-0123456789abcdef0
	Count  int    `yaml:"count,omitempty" json:"count,omitempty"`   // how many disks it must find, neither more nor fewer; 1
}

// Buses are the ways by which a disk can be attached.
var Buses = []string{"nvme", "xen", "virtio", "sata", "usb", "mmc", "scsi"}

// FromText reads a name.
func (s *Selector) FromText(text string) error {
	s.Name = strings.TrimPrefix(text, "/dev/")
	if s.Name == "" || strings.ContainsAny(s.Name, "/ \t") {
		return fmt.Errorf("want a disk's name such as xvdb, have %q", text)
	}
	return nil
}

// String is the selector in a person's words: `xvdb`, `bus sata, model X`.
func (s Selector) String() string {
	if s == (Selector{Name: s.Name, Count: s.Count}) && s.Count <= 1 {
		return s.Name
	}
	var words []string
	for _, w := range []struct{ key, value string }{{"name", s.Name}, {"serial", s.Serial}, {"model", s.Model}, {"bus", s.Bus}, {"ebs", s.EBS}} {
		if w.value != "" {
			words = append(words, w.key+" "+w.value)
		}
	}
	if s.Size != 0 {
		words = append(words, "size "+s.Size.String())
	}
	if s.Count > 1 {
		words = append(words, strconv.Itoa(s.Count)+" of them")
	}
	return strings.Join(words, ", ")
}

// Raid is an array of all disks. Chunk has no meaning at level 1.
type Raid struct {
	Level Level `yaml:"level" json:"level"`
	Chunk Size  `yaml:"chunk" json:"chunk,omitempty"`
}

// Level is 10, 0, 1 or none.
type Level string

// UnmarshalText takes the four words.
func (l *Level) UnmarshalText(text []byte) error {
	switch string(text) {
	case "10", "0", "1", "none":
		*l = Level(text)
		return nil
	}
	return fmt.Errorf("want 10, 0, 1 or none, have %q", text)
}

// Least is how many disks a level needs.
func (l Level) Least() int { return map[Level]int{"10": 4, "1": 2, "0": 2, "none": 1}[l] }

// Volumes are LVM logical volumes, each a share of the array: together at most 100 %. A share of 0 is no volume.
type Volumes struct {
	Data    Percent `yaml:"data,omitempty" json:"data,omitempty"`
	Log     Percent `yaml:"log,omitempty" json:"log,omitempty"`
	Journal Percent `yaml:"journal,omitempty" json:"journal,omitempty"`
}

// Percent is written 90%.
type Percent int

// UnmarshalText reads 1% to 100%.
func (p *Percent) UnmarshalText(text []byte) error {
	digits, found := strings.CutSuffix(string(text), "%")
	n, err := strconv.Atoi(digits)
	if !found || err != nil || n < 1 || n > 100 {
		return fmt.Errorf("want a share such as 90%%, have %q", text)
	}
	*p = Percent(n)
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (p Percent) MarshalText() ([]byte, error) { return []byte(strconv.Itoa(int(p)) + "%"), nil }

// Swap is one place to swap to.
type Swap struct {
	On        string `yaml:"on" json:"on"`                                   // one of SwapPlaces
	Size      Size   `yaml:"size,omitempty" json:"size,omitempty"`           // of a file on state, or of a zram device
	Partition string `yaml:"partition,omitempty" json:"partition,omitempty"` // usb: all; partition: its PARTUUID
}

// SwapPlaces: a file on the state partition, a whole USB stick, compressed RAM, a partition that is there.
var SwapPlaces = []string{"state", "usb", "zram", "partition"}
