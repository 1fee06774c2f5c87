package verb

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"grove/firstboot/plan"
	"grove/firstboot/plan/act"
	"grove/firstboot/provision"
	"grove/firstboot/status"
	"grove/internal/host"
)

func TestPlanIsShownToAPerson(t *testing.T) {
	var out bytes.Buffer
	show(&out, provision.Look{
		Storage: plan.Plan{Acts: []act.Act{{Name: "make ext4 on vdb, label db1"}}, Waits: []plan.Wait{{Sentence: "vdc"}}},
		Swap:    plan.Plan{Ready: []string{"/state/swap"}, Refused: []plan.Refusal{{Sentence: "vdd: is not blank"}}}})
	want := "would make ext4 on vdb, label db1\nwaits for vdc\nstands: /state/swap\nrefuses vdd: is not blank\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// A person's question has neither a console nor a page. What stands in the way of an answer must not end it.
func TestQuestionOutlivesAJournalThatCannotBeRead(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "state/grove/journal"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "state/grove/journal/0001.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	site := provision.Site{Machine: &host.FakeMachine{}, Root: root, Node: silent{}}
	site.Open(true)
}

func TestNodeOfAQuestionIsThePages(t *testing.T) {
	for _, c := range []struct {
		from  string
		given bool
	}{{"fw_cfg", true}, {"boot partition", true}, {"DHCP", false}, {"MAC address", false}} {
		if name, given := (silent{status.Status{Node: "db1", NodeFrom: c.from}}).Name(); name != "db1" || given != c.given {
			t.Errorf("by %s: got %s, given by a person %v; want %v", c.from, name, given, c.given)
		}
	}
}

func TestRebuildWantsADevice(t *testing.T) {
	for _, args := range [][]string{nil, {"rebuild"}, {"rebuild", "vdb"}, {"rebuild", "/dev/vdb", "/dev/vdc"}, {"rebuild", "/dev/../etc"}, {"make", "/dev/vdb"}} {
		if code := Rebuild(args); code != 2 {
			t.Errorf("%q: got %d; want 2", args, code)
		}
	}
}
