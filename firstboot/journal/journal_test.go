package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, folder string) *Journal {
	t.Helper()
	j, err := Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestRecordsAreThereAfterALossOfPower(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "journal")
	j := read(t, folder)
	made := Record{Kind: "create array", Name: "create RAID 1 demo/db1 of vdb, vdc", Cluster: "demo", Node: "db1", UUID: "u", Dev: "/dev/md/grove", Began: 12.5,
		Disks: []Disk{{"/dev/vdb", "S1", 1 << 30}, {"/dev/vdc", "", 1 << 30}}}
	for want := 1; want <= 2; want++ {
		if n, err := j.Begin(made); n != want || err != nil {
			t.Fatalf("got %d, %v; want %d", n, err, want)
		}
	}
	if err := j.End(1); err != nil {
		t.Fatal(err)
	}
	first, second := made, made
	first.Number, first.Done, second.Number = 1, true, 2
	again := read(t, folder)
	if diff := cmp.Diff([]Record{first, second}, again.All()); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	if diff := cmp.Diff(j.All(), again.All()); diff != "" {
		t.Errorf("in memory - read +\n%s", diff)
	}
	if n, err := again.Begin(made); n != 3 || err != nil {
		t.Errorf("got %d, %v; want 3", n, err)
	}
}

func TestWhatWasCutOffBeforeItsNameIsNoRecord(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(folder+"/0001.json.new", []byte(`{"num`), 0o600); err != nil {
		t.Fatal(err)
	}
	j := read(t, folder)
	if n, err := j.Begin(Record{}); n != 1 || err != nil || len(j.All()) != 1 {
		t.Errorf("got %d, %v, %d records", n, err, len(j.All()))
	}
}

func TestRecordThatCannotBeReadIsSpokenOf(t *testing.T) {
	for name, text := range map[string]string{"0001.json": "", "0002.json": `{"number": 1}`} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(folder); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s with %q: got %v", name, text, err)
		}
	}
}

func TestJournalThatCannotBeWrittenSaysSo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a file in the way")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	j := read(t, file+"/journal")
	if _, err := j.Begin(Record{}); err == nil || len(j.All()) != 0 {
		t.Errorf("got %v, %d records", err, len(j.All()))
	}
	if err := j.End(7); err == nil {
		t.Error("a record that is not there was ended")
	}
}

func TestAFullDiskLeavesTheRecordAsItWas(t *testing.T) {
	folder := t.TempDir()
	j := read(t, folder)
	if _, err := j.Begin(Record{Name: "make ext4"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", folder+"/0001.json.new"); err != nil { // what is written there finds no room
		t.Fatal(err)
	}
	if err := j.End(1); err == nil || !strings.Contains(err.Error(), "write record 1 of the journal: ") || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("got %v", err)
	}
	if all := read(t, folder).All(); len(all) != 1 || all[0].Done || all[0].Name != "make ext4" {
		t.Errorf("got %+v", all)
	}
	if _, err := os.Lstat(folder + "/0001.json.new"); !os.IsNotExist(err) {
		t.Errorf("the attempt is still there: %v", err)
	}
	if err := j.End(1); err != nil || !read(t, folder).All()[0].Done {
		t.Errorf("with room again: %v", err)
	}
}
