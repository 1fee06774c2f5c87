package mongod

import (
	"os"
	"strings"
	"testing"

	"grove/internal/host"
	"grove/internal/mongoconf"
	"grove/internal/size"
)

// roomy has file systems of these sizes, by their mount points.
type roomy struct {
	*host.FakeMachine
	free map[string]size.Size
}

func (r roomy) Space(path string) (total, free size.Size, err error) {
	free, known := r.free[path]
	if !known {
		return 0, 0, os.ErrNotExist
	}
	return 2 * free, free, nil
}

func TestRoomForAFirstStart(t *testing.T) {
	state := mongoconf.Places{Data: "/state/mongod/db"}
	disk := mongoconf.Places{Data: "/data", Mounted: []string{"/data"}}
	journal := mongoconf.Places{Data: "/data", Mounted: []string{"/data", "/log", "/journal"}}
	for _, c := range []struct {
		name  string
		at    mongoconf.Places
		free  map[string]size.Size
		begun bool
		want  string
	}{
		{"the state partition has it", state, map[string]size.Size{"/state": size.GiB}, false, ""},
		{"the state partition has not", state, map[string]size.Size{"/state": 40 * size.MiB}, false,
			"/state has 40 MiB free of 80 MiB, and mongod needs 64 MiB to begin with; want a larger medium, partitions.state or storage.disks"},
		{"one that has begun is left to itself", state, map[string]size.Size{"/state": size.MiB}, true, ""},
		{"a disk has it", disk, map[string]size.Size{"/data": size.GiB}, false, ""},
		{"a journal of its own has not", journal, map[string]size.Size{"/data": size.GiB, "/journal": 30 * size.MiB}, false,
			"/journal has 30 MiB free of 60 MiB, and mongod needs 64 MiB to begin with; want a larger medium, partitions.state or storage.disks"},
		{"nobody knows", disk, nil, false, "file does not exist"},
	} {
		root, free := t.TempDir(), map[string]size.Size{}
		for mount, f := range c.free {
			free[root+mount] = f
		}
		if c.begun {
			if err := os.MkdirAll(root+c.at.Data, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(root+c.at.Data+"/storage.bson", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		if err := Room(roomy{&host.FakeMachine{}, free}, root, c.at); err != nil {
			got = err.Error()
		}
		if strings.ReplaceAll(got, root, "") != c.want {
			t.Errorf("%s: got  %q; want %q", c.name, got, c.want)
		}
	}
	root := t.TempDir()
	if got, err := Journal(roomy{&host.FakeMachine{}, map[string]size.Size{root + "/journal": size.GiB}}, root, journal); got != 2*size.GiB || err != nil {
		t.Errorf("the journal's file system: got %s, %v", got, err)
	}
}
