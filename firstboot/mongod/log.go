package mongod

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"time"
)

// LastWords gives the line that best says why the server ended: the last of its latest run that is an error, else the last one. Of the files, its log
// and what it printed, the one written last is read; a server that does not even start leaves no log.
func LastWords(files ...string) string {
	var newest string
	var at time.Time
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 && info.ModTime().After(at) {
			newest, at = file, info.ModTime()
		}
	}
	return readEnd(newest)
}

func readEnd(file string) string {
	text, err := Tail(file, 64<<10) // a fatal line has a backtrace behind it, of 6.0 some 20 KB
	if err != nil {
		return ""
	}
	return lastWords([]byte(text))
}

func lastWords(log []byte) string {
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	for i := len(lines) - 1; i >= 0; i-- {
		if bytes.Contains(lines[i], []byte("SERVER RESTARTED")) {
			break // what stands before is of an earlier run
		}
		if text, severe := line(lines[i]); severe {
			return text
		}
	}
	for i := len(lines) - 1; i > 0; i-- {
		if !beside(lines[i]) {
			text, _ := line(lines[i])
			return text
		}
	}
	text, _ := line(lines[0])
	return text
}

// beside is what stands behind a reason: mongod's advice (try '/usr/bin/mongod --help' for more information), or a backtrace.
func beside(line []byte) bool {
	for _, begin := range []string{"try '", "BACKTRACE: ", "  Frame: "} {
		if bytes.HasPrefix(line, []byte(begin)) {
			return true
		}
	}
	return false
}

// line reads one of a log: a JSON document since 4.4, before that `2026-11-30T22:00:00.000+0000 E STORAGE [initandlisten] text`.
func line(text []byte) (said string, severe bool) {
	var doc struct {
		S, Msg string
		Attr   struct {
			Error, Message any
		}
	}
	if json.Unmarshal(text, &doc) != nil || doc.Msg == "" {
		words := strings.Fields(string(text))
		return string(text), len(words) > 1 && (words[1] == "E" || words[1] == "F")
	}
	said = doc.Msg
	for _, why := range []any{doc.Attr.Error, doc.Attr.Message} {
		if reason := reason(why); reason != "" {
			said += ": " + reason
		}
	}
	return said, doc.S == "E" || doc.S == "F"
}

// reason is the text in an attribute, which may be one, or a document of the server's or of WiredTiger's that holds one; its first line says it.
func reason(v any) string {
	if m, ok := v.(map[string]any); ok {
		if v, ok = m["errmsg"]; !ok {
			v = m["msg"]
		}
	}
	text, _ := v.(string)
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return text
}
