package diag

import (
	"bytes"
	"testing"
)

func TestWriteShowsFileOrderAndCarets(t *testing.T) {
	f := Findings{
		{Place: Place{File: "r.yaml", Line: 9, Col: 3, Text: "  siez: big"}, Key: "siez", Text: "unknown key"},
		{Place: Place{File: "r.yaml", Line: 2, Col: 1, Text: "bord: x"}, Key: "bord", Text: "unknown key"},
		{Place: Place{File: "r.yaml"}, Text: "board is missing"},
	}
	var got bytes.Buffer
	f.Write(&got)
	want := "r.yaml: board is missing\nr.yaml:2:1: bord: unknown key\n    bord: x\n    ^\n" +
		"r.yaml:9:3: siez: unknown key\n      siez: big\n      ^\n"
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestNear(t *testing.T) {
	names := []string{"board", "debian", "mongod", "m4.4xlarge", "pcduino3-nano"}
	for in, want := range map[string]string{
		"bord": "board", "baord": "board", "mongo": "mongod", "m4.4xlrage": "m4.4xlarge", "zzz": "", "x": "", "pcduino3nano": "pcduino3-nano",
	} {
		if got := Near(in, names); got != want {
			t.Errorf("Near(%q): got %q; want %q", in, got, want)
		}
	}
}
