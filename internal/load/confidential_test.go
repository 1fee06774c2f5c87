package load

import (
	"strings"
	"testing"
)

// password is a text that nobody may see.
type password string

func (p *password) UnmarshalText(text []byte) error { *p = password(text); return nil }
func (password) Confidential()                      {}

func TestNoFindingRepeatsASecret(t *testing.T) {
	type file struct {
		Name  string `yaml:"name"`
		Login struct {
			User     string   `yaml:"user"`
			Password password `yaml:"password"`
		} `yaml:"login"`
	}
	for name, text := range map[string]string{
		"a key is unknown on its line": "login: {usr: admin, password: hunter2}\n",
		"it stands in the wrong place": "login: hunter2\n",
		"it stands for all":            "hunter2\n",
		"it is not YAML":               "login: {password: 'hunter2}\n",
		"it stands twice":              "login: {password: hunter2, password: hunter2}\n",
	} {
		var f file
		_, found := YAML("node.yaml", []byte(text), &f)
		var said strings.Builder
		found.Write(&said)
		if len(found) == 0 || strings.Contains(said.String(), "hunter2") {
			t.Errorf("%s: got %q; want a finding without the secret", name, said.String())
		}
	}
	var f file
	if _, found := YAML("node.yaml", []byte("name: [a]\nlogin: {user: b, password: c}\n"), &f); len(found) != 1 || found[0].Place.Line != 1 || found[0].Text != "want a text, have a list" {
		t.Errorf("got %+v; want the fault of the name, with its line", found)
	}
}
