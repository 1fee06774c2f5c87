package identity

import (
	"regexp"
	"strings"
	"testing"
)

var db1 = Identity{"shop_eu", "db1"}

func TestWhoseIsReadBackFromWhatIsOnADisk(t *testing.T) {
	if got, ok := OfArray(db1.Array(), strings.ToUpper(db1.UUID(Array))); !ok || got != db1 {
		t.Errorf("array: got %v, %v", got, ok)
	}
	if got, ok := OfGroup(append([]string{"other"}, db1.Tags()...)); !ok || got != db1 {
		t.Errorf("group: got %v, %v", got, ok)
	}
	for _, r := range []Role{Data, Log, Journal, Swap("usb")} {
		if got, role, ok := OfLabel("shop_eu", db1.Label(), db1.UUID(r)); !ok || got != db1 || role != r {
			t.Errorf("label: got %v, %s, %v", got, role, ok)
		}
	}
}

func TestLongNamesAreKnownForOursAndNoMore(t *testing.T) {
	long := Identity{"production-of-the-north", "replica-17.north.example.org"}
	if n := len(long.Array()); n > most {
		t.Errorf("%s has %d letters", long.Array(), n)
	}
	if got, ok := OfArray(long.Array(), long.UUID(Array)); !ok || got != (Identity{}) {
		t.Errorf("got %v, %v; want it known without a name", got, ok)
	}
	if got := long.Label(); got != "replica-17.n" {
		t.Errorf("label: got %s", got)
	}
}

func TestNamesWithoutTheirUUIDProveNothing(t *testing.T) {
	for name, uuid := range map[string]string{
		db1.Array(): Identity{"shop_eu", "db2"}.UUID(Array), "my_array": db1.UUID(Array), "127": db1.UUID(Array), "": "", "grove_0123": "", "_db1": db1.UUID(Array),
	} {
		if got, ok := OfArray(name, uuid); ok {
			t.Errorf("array %q %s: got %v", name, uuid, got)
		}
	}
	for _, tags := range [][]string{nil, {"grove_node_db1"}, {"grove_cluster_x"}} {
		if got, ok := OfGroup(tags); ok {
			t.Errorf("tags %q: got %v", tags, got)
		}
	}
	if got, _, ok := OfLabel("other", "db1", db1.UUID(Data)); ok {
		t.Errorf("label: got %v", got)
	}
}

func TestUUIDsDifferByClusterNodeAndRole(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range []Identity{db1, {"shop_eu", "db2"}, {"shop", "db1"}} {
		for _, r := range []Role{Array, PV, Data, Log, Journal, Swap("usb"), Swap("state")} {
			seen[i.UUID(r)] = true
		}
		seen[i.PV()] = true
	}
	if len(seen) != 3*8 {
		t.Errorf("%d different; want 24", len(seen))
	}
}

// LVM refuses a UUID of another form (lib/uuid/uuid.c, id_read_format).
func TestPVHasLVMsForm(t *testing.T) {
	if got := db1.PV(); !regexp.MustCompile(`^[0-9a-f]{6}(-[0-9a-f]{4}){5}-[0-9a-f]{6}$`).MatchString(got) {
		t.Errorf("got %s", got)
	}
}
