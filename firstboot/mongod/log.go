package mongod

import (
	"bytes"
	"encoding/json"
	"io"
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
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	const end = 16 << 10
	if info, err := f.Stat(); err == nil && info.Size() > end {
		_, _ = f.Seek(-end, io.SeekEnd)
	}
	data, err := io.ReadAll(io.LimitReader(f, end))
	if err != nil {
		return ""
	}
	return lastWords(data)
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
	text, _ := line(lines[len(lines)-1])
	return text
}

// line reads one of a log: a JSON document since 4.4, before that `2026-11-30T22:00:00.000+0000 E STORAGE [initandlisten] text`.
func line(text []byte) (said string, severe bool) {
	var doc struct {
		S, Msg string
		Attr   struct {
			Error any
		}
	}
	if json.Unmarshal(text, &doc) != nil || doc.Msg == "" {
		words := strings.Fields(string(text))
		return string(text), len(words) > 1 && (words[1] == "E" || words[1] == "F")
	}
	said = doc.Msg
	switch e := doc.Attr.Error.(type) {
	case string:
		said += ": " + e
	case map[string]any:
		if m, ok := e["errmsg"].(string); ok {
			said += ": " + m
		}
	}
	return said, doc.S == "E" || doc.S == "F"
}
