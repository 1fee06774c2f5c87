package page

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// entry is a line of mongod's log. Of an old server's it is Text alone.
type entry struct {
	Time, Severity, Component, Text string
	Mood                            string // bad: an error or worse; busy: a warning
}

// The last lines of the log that are shown, and how long one may be.
const (
	lastLines = 40
	longLine  = 320
)

// entries reads the end of a log. When it begins amid a line, that is left out.
func entries(tail string) (all []entry) {
	if len(tail) >= LogTail {
		_, tail, _ = strings.Cut(tail, "\n")
	}
	lines := strings.Split(strings.TrimSpace(tail), "\n")
	for _, line := range lines[max(0, len(lines)-lastLines):] {
		if line != "" {
			all = append(all, read(line))
		}
	}
	return all
}

// own are the components of mongod (log_component.h) that speak of the server alone. The others quote what clients ask and store, as of slow queries and of what a secondary
// writes after its primary, and the page asks nobody's name: of these the sentence is shown and not what belongs to it. A person who logs in has the file.
var own = []string{"-", "ASIO", "CONTROL", "ELECTION", "FTDC", "INITSYNC", "JOURNAL", "NETWORK", "RECOVERY", "REPL_HB", "ROLLBACK", "STORAGE", "WT", "WTCHKPT", "WTRECOV"}

var password = regexp.MustCompile(`://[^/@\s"]*@`)

// mask takes users and passwords out of addresses.
func mask(text string) string { return password.ReplaceAllString(text, "://…@") }

// read takes a line apart: a JSON document since 4.4, before that `2026-11-30T22:00:00.000+0000 E STORAGE  [initandlisten] text`, of
// which the part from the first document on is left out.
func read(line string) entry {
	var doc struct {
		T struct {
			Date string `json:"$date"`
		} `json:"t"`
		S    string          `json:"s"`
		C    string          `json:"c"`
		Msg  string          `json:"msg"`
		Attr json.RawMessage `json:"attr"`
	}
	if json.Unmarshal([]byte(line), &doc) != nil || doc.Msg == "" {
		text, _, more := strings.Cut(line, "{")
		if more {
			text += "…"
		}
		e := entry{Text: cut(mask(text), longLine)}
		if words := strings.Fields(line); len(words) > 1 {
			e.Mood = severity(words[1])
		}
		return e
	}
	text := doc.Msg
	if len(doc.Attr) > 0 && slices.Contains(own, doc.C) {
		text += " " + mask(string(doc.Attr))
	}
	_, clock, _ := strings.Cut(doc.T.Date, "T")
	return entry{clock[:min(len(clock), len("22:00:00.000"))], doc.S, doc.C, cut(text, longLine), severity(doc.S)}
}

func severity(s string) string {
	switch s {
	case "E", "F":
		return "bad"
	case "W":
		return "busy"
	}
	return ""
}
