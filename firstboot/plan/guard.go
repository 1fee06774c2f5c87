package plan

import (
	"fmt"

	"grove/firstboot/facts"
	"grove/firstboot/plan/act"
	"grove/firstboot/plan/disks"
)

// Guarded says that an act's device has to be looked at once more right before it: the plan was made when it could not be seen, or a while ago.
func Guarded(k act.Kind) bool {
	switch k {
	case act.CreatePV, act.CreateGroup, act.MakeFS, act.MakeTable, act.MakeSwap, act.Mount, act.SwapOn:
		return true
	}
	return false
}

// Looked is the device that Guard wants the content of.
func Looked(a act.Act) string {
	if a.Kind == act.CreateGroup {
		return a.From[0]
	}
	return a.Dev
}

// Guard refuses an act on a device whose content is not what the plan took it to be.
func Guard(a act.Act, c facts.Content) error {
	switch a.Kind {
	case act.CreatePV, act.MakeFS, act.MakeTable, act.MakeSwap:
		if c.Blank() || a.Redo && (c.UUID == a.UUID || disks.NothingKnown(c)) {
			return nil
		}
		return fmt.Errorf("%s is not blank: %s", a.Dev, words(c))
	case act.CreateGroup, act.Mount:
		if c.UUID == a.UUID {
			return nil
		}
		return fmt.Errorf("want UUID %s, have %s", a.UUID, words(c))
	case act.SwapOn:
		if c.Type == "swap" && (a.UUID == "" || c.UUID == a.UUID) {
			return nil
		}
		return fmt.Errorf("want swap, UUID %s, have %s", a.UUID, words(c))
	}
	return nil
}

// words says what a content is, for a person.
func words(c facts.Content) string {
	switch {
	case c.Fault != "":
		return c.Fault
	case c.Type != "" && c.UUID != "":
		return fmt.Sprintf("%s, label %q, UUID %s", c.Type, c.Label, c.UUID)
	case c.Type != "":
		return c.Type
	case c.Table != "":
		return "a partition table, " + c.Table
	case len(c.Signatures) > 0:
		return c.Signatures[0]
	case c.Data != "":
		return "data " + c.Data
	}
	return "nothing known"
}
