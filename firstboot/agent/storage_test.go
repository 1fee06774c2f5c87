package agent

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"grove/internal/host"
)

// dataDisk gives a node an image that asks for one disk, and the disk: a file with room for a real ext4, which mke2fs makes.
func (n *bench) dataDisk() string {
	n.t.Helper()
	n.file("etc/grove/image.json", `{"image": "demo", "board": "m4.4xlarge", "disk_id": "`+guid+`", "cluster": "demo", "mongod": {"version": "6.0.5", "config": {}},
		"storage": {"disks": [{"name": "vdb", "count": 1}], "raid": {"level": "none"}, "filesystem": "ext4", "options": ["noatime", "noexec"]}}`)
	n.file("sys/firmware/qemu_fw_cfg/by_name/opt/org.grove/node.yaml/raw", "hostname: db1\n")
	n.file("proc/self/mountinfo", "")
	n.machine.Root, n.machine.Numbers = n.root, map[string]string{n.root + "/dev/vdb": "254:16"}
	n.file("dev/vdb", "")
	file := filepath.Join(n.root, "dev/vdb")
	if err := os.Truncate(file, 32<<20); err != nil {
		n.t.Fatal(err)
	}
	for name, text := range map[string]string{"block/vda/size": "131072", "block/vdb/size": "65536", "block/vdb/serial": "S1", "class/block/vdb/dev": "254:16"} {
		n.file("sys/"+name, text)
	}
	n.machine.Programs = func(c host.Command) (string, error) {
		if filepath.Base(c.Path) != "mke2fs" {
			return "", nil
		}
		out, err := exec.Command("mke2fs", c.Args...).CombinedOutput()
		return string(out), err
	}
	return file
}

func TestDataDiskIsMadeBeforeMongod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.dataDisk()
		n.begin()
		pass(10 * time.Second)
		n.hasSaid("storage: begins: make ext4 on vdb, label db1 (journal 1)", "storage: done: make ext4 on vdb, label db1", "storage: begins: mount vdb on /data, noatime noexec",
			"storage: begins: write /data/.grove-complete (journal 2)", "storage: ready: /data ext4 on /dev/vdb", "mongod: 6.0.5 started, pid 100")
		n.is(`hostname db1
mount /dev/vda2 on /state type ext4 read-only false
mount /dev/vdb on /data type ext4 read-only false
folder /data -rwx------ 990:990
folder /state/mongod/log -rwx------ 990:990
process 100 /usr/bin/mongod --config /run/grove/mongod.conf uid 990 runs
`)
		if conf, err := os.ReadFile(n.root + "/run/grove/mongod.conf"); err != nil || !strings.Contains(string(conf), "dbPath: /data\n") {
			t.Errorf("got %v\n%s", err, conf)
		}
		if got := n.status().Storage; got.State != "ready" || len(got.Done) != 3 || len(got.Mounts) != 1 {
			t.Errorf("got %+v", got)
		}
		n.leave()
	})
}

func TestDataOfOthersIsRefusedUntilAPersonSeesToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		file := n.dataDisk()
		if err := os.WriteFile(file, append([]byte("somebody's"), make([]byte, 32<<20-10)...), 0o600); err != nil {
			t.Fatal(err)
		}
		n.begin()
		pass(40 * time.Second)
		const refused = "storage: refused: data of demo/db1: vdb is not blank; evidence: not zero at 0, nothing known there; who knows that it may go types: blkdiscard -f -z /dev/vdb"
		said := n.said()
		if strings.Count(said, refused+"\n") != 1 || strings.Contains(said, "begins") {
			t.Errorf("want once %q in\n%s", refused, said)
		}
		if got := n.status(); got.Storage.State != "refused" || len(got.Storage.Refused) != 1 || got.Mongod.PID != 0 || len(got.Problems) != 1 {
			t.Errorf("got %+v", got)
		}
		if data, err := os.ReadFile(file); err != nil || string(data[:10]) != "somebody's" {
			t.Errorf("the disk was written to: %v", err)
		}
		if err := errors.Join(os.Truncate(file, 0), os.Truncate(file, 32<<20)); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Second)
		n.hasSaid("storage: ready: /data ext4 on /dev/vdb")
		if got := n.status(); got.Phase != "serving" || len(got.Problems) > 0 {
			t.Errorf("got %+v", got)
		}
		n.leave()
	})
}

func TestNodeWithoutItsMediumMakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.dataDisk()
		n.machine.Broken = map[string]error{n.root + "/dev/vda2": errors.New("input/output error")}
		n.begin()
		pass(40 * time.Second)
		n.hasSaid("storage: refused: data of demo/db1: there is no journal on the state partition, and nothing is made without one")
		if got := n.status(); got.Mongod.PID != 0 || got.Storage.State != "refused" {
			t.Errorf("got %+v", got)
		}
		n.leave()
	})
}

func TestJournalThatCannotBeReadIsAsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.dataDisk()
		n.file("state/grove/journal/0001.json", "")
		n.begin()
		pass(10 * time.Second)
		n.hasSaid("storage: read the journal, /state/grove/journal/0001.json: unexpected end of JSON input; nothing new is made on the data disks",
			"storage: refused: data of demo/db1: there is no journal on the state partition, and nothing is made without one")
		if got := n.status(); len(got.Problems) != 2 || got.Phase != "degraded" {
			t.Errorf("got %+v", got)
		}
		n.leave()
	})
}

func TestMongodIsNotStartedBesideItsDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.dataDisk()
		n.machine.Spawned = func(r host.Running) { go n.machine.End(r.PID, "exit code 14") }
		n.begin()
		pass(time.Second)
		if err := n.machine.Unmount(n.root + "/data"); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Second)
		n.hasSaid("mongod: nothing is mounted on /data; mongod is not started on RAM; next attempt in 4s")
		n.leave()
	})
}

func TestArraysAreWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.dataDisk()
		for name, text := range map[string]string{"array_state": "clean", "level": "raid10", "raid_disks": "2", "sync_action": "idle", "sync_completed": "none",
			"dev-vdx/slot": "0", "dev-vdx/state": "in_sync", "dev-vdy/slot": "1", "dev-vdy/state": "in_sync"} {
			n.file("sys/block/md127/md/"+name, text)
		}
		n.begin()
		pass(20 * time.Second)
		n.said()
		n.file("sys/block/md127/md/dev-vdy/state", "faulty")
		pass(10 * time.Second)
		n.hasSaid("storage: md127, raid10, is degraded: 1 of 2 disks work: vdx")
		if got := n.status(); len(got.Storage.Arrays) != 1 || !got.Storage.Arrays[0].Degraded || got.Storage.Arrays[0].Since < 20 || got.Storage.Arrays[0].Faulty[0] != "vdy" ||
			len(got.Problems) != 1 || got.Phase != "serving" {
			t.Errorf("got %+v", got)
		}
		n.file("sys/block/md127/md/sync_action", "recover")
		n.file("sys/block/md127/md/sync_completed", "500 / 2000")
		pass(10 * time.Second)
		if got := n.status().Storage.Arrays[0]; got.Sync != "recover" || got.Percent != 25 {
			t.Errorf("got %+v", got)
		}
		since := n.status().Storage.Arrays[0].Since
		n.leave()
		n.begin()
		pass(10 * time.Second)
		if got := n.status().Storage.Arrays[0].Since; got != since {
			t.Errorf("after an agent's restart: since %v; want %v", got, since)
		}
		n.file("sys/block/md127/md/dev-vdy/state", "in_sync")
		n.file("sys/block/md127/md/sync_action", "idle")
		n.said()
		pass(10 * time.Second)
		if said := n.said(); !strings.Contains(said, "storage: md127, raid10, is whole again after ") {
			t.Errorf("got\n%s", said)
		}
		n.leave()
	})
}
