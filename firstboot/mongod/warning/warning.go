// Package warning knows mongod's start-up warnings, as servers from 3.0 to 8.0 word them: which of them say that the node is not tuned as it should be, and which follow from
// what the recipe asks for. It decides and touches nothing.
//
// mongod keeps them in a log of its own (getLog: startupWarnings), which only a user may read once access control is on; they stand in its log file as well.
package warning

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Texts makes one text of each warning out of the lines of getLog. Since 4.4 a line is a JSON document; before that a warning is several lines of text:
//
//	2015-11-30T22:00:00.000+0000 I CONTROL  [initandlisten] ** WARNING: /sys/kernel/mm/transparent_hugepage/enabled is 'always'.
//	2015-11-30T22:00:00.000+0000 I CONTROL  [initandlisten] **        We suggest setting it to 'never'
func Texts(lines []string) []string {
	var texts []string
	for _, line := range lines {
		if text, is := document(line); is {
			texts = append(texts, text)
			continue
		}
		found := starred.FindStringSubmatch(line)
		switch {
		case found == nil:
		case found[1] != "" || len(texts) == 0:
			texts = append(texts, found[2])
		default:
			texts[len(texts)-1] += " " + found[2]
		}
	}
	return slices.Compact(texts)
}

// starred is a line of a server before 4.4; the first word tells where a warning begins.
var starred = regexp.MustCompile(`\[[^\]]+\] \*\* *(WARNING: |NOTE: |)(.*\S)\s*$`)

// document is a line of 4.4 and later, with what it says beside the message.
func document(line string) (text string, is bool) {
	var doc struct {
		Msg  string
		Attr map[string]any
	}
	if json.Unmarshal([]byte(line), &doc) != nil || doc.Msg == "" {
		return "", false
	}
	var more []string
	for _, name := range slices.Sorted(maps.Keys(doc.Attr)) {
		more = append(more, fmt.Sprintf("%s %v", name, doc.Attr[name]))
	}
	if len(more) > 0 {
		return doc.Msg + " (" + strings.Join(more, ", ") + ")", true
	}
	return doc.Msg, true
}

// OfLog gives the lines with warnings of the last run in a log file, or in the end of one.
func OfLog(log string) (lines []string) {
	for line := range strings.Lines(log) {
		switch {
		case strings.Contains(line, "SERVER RESTARTED"):
			lines = nil
		case strings.Contains(line, `"tags":["startupWarnings"]`), !strings.HasPrefix(line, "{") && strings.Contains(line, "[initandlisten] ** "):
			lines = append(lines, strings.TrimRight(line, "\r\n"))
		}
	}
	return lines
}
