package facts

import (
	"fmt"
	"slices"
	"strings"

	"grove/firstboot/plan/identity"
)

// evidence says what the disk carries.
func (j judge) evidence() []string {
	said := j.describe(j.disk.Content)
	if j.disk.Content.Table != "" {
		for _, p := range j.disk.Parts {
			if p.Content.Known() || p.Content.Fault != "" {
				said = append(said, p.Name+": "+strings.Join(j.describe(p.Content), "; "))
			}
		}
	}
	if j.disk.ReadOnly {
		said = append(said, "it is write-protected")
	}
	return said
}

func (j judge) describe(c Content) []string {
	said := c.Evidence()
	if m := c.Member; m != nil {
		if owner, ok := identity.OfArray(m.Name, m.Array); ok {
			said[0] += ", made for " + node(owner)
		}
	}
	for _, g := range j.have.Groups {
		if c.GroupID != "" && g.UUID == c.GroupID && len(g.Tags) > 0 {
			said[0] += ", tags " + strings.Join(g.Tags, " ")
		}
	}
	if j.disk.Content.Table != "" && c.Table == j.disk.Content.Table && c.Type == "" {
		said[0] += fmt.Sprintf(" with %d partition%s", len(j.disk.Parts), plural(len(j.disk.Parts)))
	}
	return said
}

// Evidence says what is there, a sentence each.
func (c Content) Evidence() (said []string) {
	switch {
	case c.Fault != "":
		return []string{"cannot be looked at: " + c.Fault}
	case c.Member != nil:
		said = append(said, c.Member.String()+", UUID "+c.Member.Array)
	case c.Type == "LVM2_member":
		said = append(said, "LVM physical volume, UUID "+c.UUID+", "+or(c.Group, "of no volume group", "of volume group "))
	case c.Type == "crypto_LUKS":
		said = append(said, "LUKS encryption, UUID "+c.UUID)
	case c.Type != "":
		said = append(said, c.Type+or(c.Label, ", no label", ", label ")+or(c.UUID, "", ", UUID "))
	}
	if c.Unfinished {
		said[0] += ", which its mkfs did not finish"
	}
	if c.Table != "" {
		said = append(said, tableName(c.Table))
	}
	if listed := strings.Join(c.Signatures, ", "); listed != "" && (c.Ambivalent || len(said) == 0) {
		said = append(said, "signatures: "+listed)
	}
	if c.Ambivalent {
		said = append(said, "they exclude each other: nobody can say what it is")
	}
	switch {
	case c.Data != "":
		said = append(said, "not zero "+c.Data+", nothing known there")
	case len(said) == 0 && c.Sampled:
		said = append(said, "nothing known on it, and zero wherever it was read")
	case len(said) == 0:
		said = append(said, "nothing known on it, and not looked at any closer")
	}
	return said
}

// String is `member 2 of 4 of the raid10 "db7"`.
func (m Member) String() string {
	array := fmt.Sprintf("the %s %q", m.Level, m.Name)
	if m.Role < 0 {
		return "spare of " + array
	}
	return fmt.Sprintf("member %d of %d of %s", m.Role+1, m.Disks, array)
}

func tableName(kind string) string {
	if known := map[string]string{"gpt": "GPT", "dos": "MBR"}[kind]; known != "" {
		return known
	}
	return "partition table " + kind
}

// or is the value behind its word, or what to say without one.
func or(value, without, before string) string {
	if value == "" {
		return without
	}
	return before + value
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// swapPlaces are those of spec.SwapPlaces that are on disks.
var swapPlaces = []string{"usb", "partition"}

// Visible lists the disks for a sentence about one that is not there: `vda (8 GiB, virtio, serial a, system), vdb (1 GiB, virtio)`.
func Visible(disks []Disk) string {
	var all []string
	for _, d := range disks {
		words := []string{d.Size.Short()}
		words = slices.DeleteFunc(append(words, d.Bus, or(d.Serial, "", "serial "), string(d.Class)), func(w string) bool { return w == "" })
		all = append(all, strings.Join(d.Names, " = ")+" ("+strings.Join(words, ", ")+")")
	}
	if all == nil {
		return "no disk at all"
	}
	return strings.Join(all, ", ")
}
