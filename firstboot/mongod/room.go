package mongod

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"grove/internal/host"
	"grove/internal/mongoconf"
	"grove/internal/size"
)

// least is what a new mongod needs free to begin with: WiredTiger's journal where it is kept short (mongoconf.Small), and its first files. Seen: 24 MiB.
const least = 64 * size.MiB

// Journal is the size of the file system that mongod's journal lies on.
func Journal(machine host.Machine, root string, at mongoconf.Places) (size.Size, error) {
	total, _, err := machine.Space(root + journalOn(at))
	return total, err
}

func journalOn(at mongoconf.Places) string {
	if slices.Contains(at.Mounted, "/journal") {
		return "/journal"
	}
	return dataOn(at)
}

// dataOn is where the file system of the data is mounted.
func dataOn(at mongoconf.Places) string {
	for _, m := range at.Mounted {
		if m == at.Data {
			return m
		}
	}
	return "/" + strings.SplitN(strings.TrimPrefix(at.Data, "/"), "/", 2)[0]
}

// Room refuses a first start where there is no room for it: mongod would end, with an abort, and be started again for ever. One that has begun is left to itself.
func Room(machine host.Machine, root string, at mongoconf.Places) error {
	if _, err := os.Lstat(root + at.Data + "/storage.bson"); err == nil {
		return nil // of every engine since 3.0, the first file that it makes
	}
	for _, mount := range []string{dataOn(at), journalOn(at)} {
		total, free, err := machine.Space(root + mount)
		if err != nil {
			return err
		}
		if free < least {
			return fmt.Errorf("%s has %s free of %s, and mongod needs %s to begin with; want a larger medium, partitions.state or storage.disks", mount, free.Short(), total.Short(), least.Short())
		}
	}
	return nil
}
