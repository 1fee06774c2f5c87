package verb

import (
	"bytes"
	"testing"

	"grove/firstboot/status"
)

func TestTuningIsShownToAPerson(t *testing.T) {
	var out bytes.Buffer
	showTuning(&out, status.Tuning{Profile: "mongodb", Differs: []string{"a differs"}, Warnings: []status.Warning{{Text: "it is cold", Explanation: "it is winter"}},
		Values: []status.Tuned{{Name: "vm.max_map_count", Want: "131060", AtLeast: true, Before: "65530", After: "131060", State: "same", Source: "the notes"}}})
	want := `profile mongodb
vm.max_map_count: is 131060, want at least 131060, was 65530: same (the notes)
a differs
mongod warns: it is cold: it is winter
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
