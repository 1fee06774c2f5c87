package spec

import "testing"

func TestLineIsReadBack(t *testing.T) {
	want := Line{12.1, "mongod", "6.0.5 answers on 10.5.0.11:27017"}
	for _, before := range []string{"", "[    3.1] random: ", "/# "} {
		if got, ok := ParseLine(before + want.String() + "\r"); !ok || got != want {
			t.Errorf("behind %q: got %v, %v; want %v", before, got, ok, want)
		}
	}
	for _, s := range []string{"", "grove", "grove x init: y", "a grove 1.0 of trees", "grove 1.0 no colon"} {
		if got, ok := ParseLine(s); ok {
			t.Errorf("%q: got %v; want no line", s, got)
		}
	}
}

func TestIDIsAUUIDOfSeedAndRole(t *testing.T) {
	a, b := ID("x", "disk"), ID("x", "state")
	if len(a) != 36 || a[14] != '8' || a == b || a != ID("x", "disk") {
		t.Errorf("got %s and %s; want two stable version 8 UUIDs", a, b)
	}
}
