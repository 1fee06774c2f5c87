package apt

import "strings"

// Lines reads the one-line form: `deb [signed-by=FILE arch=amd64] URI SUITE COMPONENT...`.
func Lines(text string) []Entry {
	var found []Entry
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 4 || words[0] != "deb" {
			continue
		}
		var e Entry
		rest := strings.Join(words[1:], " ")
		if strings.HasPrefix(rest, "[") {
			options, behind, closed := strings.Cut(rest[1:], "]")
			if !closed {
				continue
			}
			rest = behind
			for _, option := range strings.Fields(options) {
				if key, value, _ := strings.Cut(option, "="); strings.EqualFold(key, "signed-by") {
					e.SignedBy = value
				}
			}
		}
		if words := strings.Fields(rest); len(words) >= 3 {
			e.URI, e.Suites, e.Components = words[0], words[1:2], words[2:]
			found = append(found, e)
		}
	}
	return found
}

// Stanzas reads the deb822 form, an entry for each of its URIs.
func Stanzas(text string) []Entry {
	var found []Entry
	fields := map[string]string{}
	flush := func() {
		if has(fields["types"], "deb") && !strings.EqualFold(fields["enabled"], "no") {
			for _, uri := range strings.Fields(fields["uris"]) {
				found = append(found, Entry{
					URI: uri, Suites: strings.Fields(fields["suites"]), Components: strings.Fields(fields["components"]), SignedBy: fields["signed-by"],
				})
			}
		}
		clear(fields)
	}
	key := ""
	for line := range strings.Lines(text) {
		switch {
		case strings.TrimSpace(line) == "":
			flush()
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "), strings.HasPrefix(line, "\t"):
			fields[key] += " " + strings.TrimSpace(line)
		default:
			name, value, _ := strings.Cut(line, ":")
			key = strings.ToLower(name)
			fields[key] = strings.TrimSpace(value)
		}
	}
	flush()
	return found
}

func has(words, word string) bool {
	for _, w := range strings.Fields(words) {
		if w == word {
			return true
		}
	}
	return false
}
