package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// Line is what a node says on its console, one thing a line: `grove 12.10 mongod: 6.0.5 answers on 10.5.0.11:27017`. The lab follows a boot by them.
//
// Of storage, each act has two: `begins: create RAID 10 demo/db1 of vdb, vdc (journal 3)`, when its record is on the medium, and `done: ` with the same sentence. Then
// there are `refused: `, `waits for `, and once all is mounted `ready: /data xfs on /dev/grove/data, ...`.
type Line struct {
	Uptime float64 // seconds since the kernel's start
	Topic  string  // init, node, network, clock, state, storage, mongod, log, agent, stop
	Text   string
}

// String is the line as it stands on the console, without its end.
func (l Line) String() string { return fmt.Sprintf("grove %.2f %s: %s", l.Uptime, l.Topic, l.Text) }

// ParseLine finds such a line, also behind what the kernel or a shell left on it.
func ParseLine(s string) (Line, bool) {
	at := strings.LastIndex(s, "grove ")
	if at < 0 {
		return Line{}, false
	}
	seconds, rest, _ := strings.Cut(s[at+len("grove "):], " ")
	topic, text, found := strings.Cut(rest, ": ")
	up, err := strconv.ParseFloat(seconds, 64)
	if err != nil || !found || strings.ContainsAny(topic, " \t") {
		return Line{}, false
	}
	return Line{Uptime: up, Topic: topic, Text: strings.TrimRight(text, "\r\n")}, true
}
