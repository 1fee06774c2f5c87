package page

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/firstboot/status"
)

func TestLogIsReadFromItsEnd(t *testing.T) {
	json := `{"t":{"$date":"2026-11-30T22:00:00.123+00:00"},"s":"W","c":"STORAGE","id":1,"ctx":"x","msg":"Slow","attr":{"ms":5}}`
	for _, c := range []struct {
		name, tail string
		want       []entry
	}{
		{"nothing", "", nil},
		{"a line since 4.4", json + "\n", []entry{{"22:00:00.123", "W", "STORAGE", `Slow {"ms":5}`, "busy"}}},
		{"a line before that", "2026-11-30T22:00:00.000+0000 E STORAGE  [init] no\n", []entry{{"", "", "", "2026-11-30T22:00:00.000+0000 E STORAGE  [init] no", "bad"}}},
		{"what is printed", "exec: not found", []entry{{Text: "exec: not found"}}},
		{"a time that is none", `{"t":{"$date":"now"},"s":"I","msg":"x"}`, []entry{{Severity: "I", Text: "x"}}},
		{"what clients ask is not shown", `{"s":"I","c":"COMMAND","msg":"Slow query","attr":{"command":{"find":"people","filter":{"name":"Ann"}}}}`, []entry{{Severity: "I", Component: "COMMAND", Text: "Slow query"}}},
		{"what a secondary writes is not shown", `{"s":"I","c":"REPL","msg":"Applied op","attr":{"CRUD":{"o":{"name":"Ann"}}}}`, []entry{{Severity: "I", Component: "REPL", Text: "Applied op"}}},
		{"nor is it of an old server", `2016-05-01T12:00:00.000+0000 I COMMAND  [conn1] query db.people query: { name: "Ann" }`,
			[]entry{{Text: "2016-05-01T12:00:00.000+0000 I COMMAND  [conn1] query db.people query: …"}}},
		{"a password in an address is not shown", `{"s":"I","c":"NETWORK","msg":"x","attr":{"to":"mongodb://ann:secret@db2/"}}`, []entry{{Severity: "I", Component: "NETWORK", Text: `x {"to":"mongodb://…@db2/"}`}}},
		{"the end of a long log begins with a whole line", strings.Repeat("x", LogTail-4) + "\nlast", []entry{{Text: "last"}}},
	} {
		if diff := cmp.Diff(c.want, entries(c.tail)); diff != "" {
			t.Errorf("%s: want - got +\n%s", c.name, diff)
		}
	}
	if got := entries(strings.Repeat("a\n", 100)); len(got) != lastLines {
		t.Errorf("%d lines; want %d", len(got), lastLines)
	}
	if got := entries(strings.Repeat("ä", 500))[0].Text; got != strings.Repeat("ä", longLine/2)+" …" {
		t.Errorf("got %q", got)
	}
}

func TestSpans(t *testing.T) {
	for seconds, want := range map[float64]string{-3: "0 s", 59.9: "59 s", 61: "1 min 1 s", 7380: "2 h 3 min", 180000: "2 d 2 h"} {
		if got := span(seconds); got != want {
			t.Errorf("%v s: got %q; want %q", seconds, got, want)
		}
	}
}

func TestFileSystemsAreJoined(t *testing.T) {
	var s status.Status
	s.State.Device = "/dev/vda5"
	s.Space = []status.Room{{Mount: "/state", Size: 1000, Free: 250}, {Mount: "/data", Size: 10, Free: 0, State: "full"}}
	s.Storage.Mounts = []status.Mount{{Device: "/dev/md127", Target: "/data", Type: "xfs", Options: "noatime"}, {Device: "/dev/vdb", Target: "/log", Type: "xfs"}}
	want := []room{
		{Room: s.Space[0], On: "ext4 on /dev/vda5", Percent: 75},
		{Room: s.Space[1], On: "xfs on /dev/md127", Options: "noatime", Percent: 100},
		{Room: status.Room{Mount: "/log"}, On: "xfs on /dev/vdb"},
	}
	if diff := cmp.Diff(want, rooms(s)); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestTimeIsNotSaidWhileItIsAGuess(t *testing.T) {
	s := recorded(t)
	s.Clock.Guessed = true
	if text := body(t, ask(handler(t, s, ""), "GET", "/")); !strings.Contains(text, "the date is not known") || strings.Contains(text, "looked at on") {
		t.Error("the page says what the date is")
	}
}
