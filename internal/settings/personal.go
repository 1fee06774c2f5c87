package settings

import (
	"fmt"
	"regexp"
	"strings"

	"grove/internal/spec"
)

// CheckPersonal reports each fault of a node.yaml by its key. It never repeats a secret.
func CheckPersonal(p spec.Personal, report func(key, format string, values ...any)) {
	if p.Hostname != "" {
		if why := CheckHostname(p.Hostname); why != "" {
			report("hostname", "%s", why)
		}
	}
	Check(p.Settings, report)
	CheckSecrets(p.Secrets, report)
}

// A label as RFC 1123, 2.1 allows it.
var label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// CheckHostname says what is wrong with a name, "" when nothing is. It may have dots; Linux takes 64 letters of it.
func CheckHostname(name string) string {
	switch {
	case len(name) > 63:
		return fmt.Sprintf("want at most 63 letters, have %d", len(name))
	case name == "localhost":
		return "want a name of the node's own, have \"localhost\""
	}
	for part := range strings.SplitSeq(name, ".") {
		if !label.MatchString(part) {
			return fmt.Sprintf("want small letters, digits and hyphens, not at the ends, as in db1, have %q", name)
		}
	}
	return ""
}
