package settings

import (
	"strings"
	"testing"
)

func TestHostnames(t *testing.T) {
	long := strings.Repeat("a", 64)
	for name, good := range map[string]bool{"db1": true, "a": true, "1a": true, "db-1.lab.internal": true, long[:63]: true, long: false, "": false, "-a": false, "a-": false,
		"DB1": false, "a_b": false, "a..b": false, "a.": false, "localhost": false, "ä": false, "a b": false} {
		if why := CheckHostname(name); (why == "") != good {
			t.Errorf("%q: got %q", name, why)
		}
	}
}
