package superblock

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// section is a part of LVM's metadata in its text form (lvm.conf(5)): `name { key = value ... }`, values are numbers, "texts" and [lists, of, them].
type section map[string]any

func (s section) section(name string) section { v, _ := s[name].(section); return v }
func (s section) text(name string) string     { v, _ := s[name].(string); return v }
func (s section) number(name string) int64    { v, _ := s[name].(int64); return v }
func (s section) list(name string) []string   { v, _ := s[name].([]string); return v }

// names gives the sections in it, sorted.
func (s section) names() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if _, is := s[name].(section); is {
			names = append(names, name)
		}
	}
	return names
}

// deepest is how far sections may lie within each other; LVM's own have four levels.
const deepest = 8

// parse reads as far as it understands.
func parse(s string) section { return (&reader{rest: s}).section(0) }

type reader struct{ rest string }

func (r *reader) section(depth int) section {
	s := section{}
	for {
		name := r.token()
		if name == "" || name == "}" || depth > deepest {
			return s
		}
		switch r.token() {
		case "{":
			s[name] = r.section(depth + 1)
		case "=":
			s[name] = r.value()
		default:
			return s
		}
	}
}

func (r *reader) value() any {
	token := r.token()
	if token != "[" {
		return scalar(token)
	}
	var list []string
	for {
		switch token := r.token(); token {
		case "]", "":
			return list
		case ",":
		default:
			if text, is := scalar(token).(string); is {
				list = append(list, text)
			}
		}
	}
}

func scalar(token string) any {
	if text, quoted := strings.CutPrefix(token, `"`); quoted {
		return text
	}
	n, _ := strconv.ParseInt(token, 10, 64)
	return n
}

// token gives the next word or sign; a text begins with a quote and has none at its end. "" is the end.
func (r *reader) token() string {
	for {
		r.rest = strings.TrimLeft(r.rest, " \t\r\n")
		if !strings.HasPrefix(r.rest, "#") {
			break
		}
		_, r.rest, _ = strings.Cut(r.rest, "\n")
	}
	switch {
	case r.rest == "":
		return ""
	case strings.ContainsRune("{}[]=,", rune(r.rest[0])):
		return r.take(1)
	case r.rest[0] == '"':
		return r.text()
	}
	if end := strings.IndexAny(r.rest, " \t\r\n{}[]=,#\""); end >= 0 {
		return r.take(end)
	}
	return r.take(len(r.rest))
}

func (r *reader) take(n int) (token string) {
	token, r.rest = r.rest[:n], r.rest[n:]
	return token
}

func (r *reader) text() string {
	b := []byte{'"'}
	for r.rest = r.rest[1:]; r.rest != ""; r.rest = r.rest[1:] {
		switch c := r.rest[0]; {
		case c == '"':
			r.rest = r.rest[1:]
			return string(b)
		case c == '\\' && len(r.rest) > 1:
			r.rest = r.rest[1:]
			b = append(b, r.rest[0])
		default:
			b = append(b, c)
		}
	}
	return string(b)
}
