package load

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/size"
)

type thing struct {
	Name   string         `yaml:"name"`
	Count  int            `yaml:"count"`
	On     bool           `yaml:"on"`
	Size   size.Size      `yaml:"size"`
	List   []string       `yaml:"list"`
	Part   part           `yaml:"part"`
	Parts  []part         `yaml:"parts"`
	Config map[string]any `yaml:"config"`
	Hidden string         `yaml:"-"`
}

type part struct {
	Size size.Size `yaml:"size"`
}

func TestYAMLFillsAStruct(t *testing.T) {
	var got thing
	src, found := YAML("t.yaml", []byte("name: a\ncount: 3\non: true\nsize: 4GiB\nlist: [x, y]\npart: {size: 1MiB}\nparts:\n  - size: 2MiB\n"+
		"config: {a: {b: 1, c: [true, 1.5]}}\n"), &got)
	want := thing{Name: "a", Count: 3, On: true, Size: 4 * size.GiB, List: []string{"x", "y"}, Part: part{size.MiB}, Parts: []part{{2 * size.MiB}},
		Config: map[string]any{"a": map[string]any{"b": 1, "c": []any{true, 1.5}}}}
	if len(found) > 0 {
		t.Fatal(found)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if p := src.At("parts[0].size"); p.Line != 8 || p.Col != 11 {
		t.Errorf("parts[0].size: got %d:%d; want 8:11", p.Line, p.Col)
	}
	if p := src.At("part.missing"); p.Line != 6 {
		t.Errorf("a missing key: got line %d; want the key above it, 6", p.Line)
	}
}

func TestYAMLFindsFaults(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a misspelt key", "nmae: a", `t.yaml:1:1: nmae: unknown key; did you mean "name"?`},
		{"an unknown key inside", "part: {weight: 1}", `t.yaml:1:8: part.weight: unknown key; known here: size`},
		{"a hidden field is no key", "hidden: x", `t.yaml:1:1: hidden: unknown key; known here: config, count, list, name, on, part, parts, size`},
		{"a size without unit", "size: 512", `t.yaml:1:7: size: want a size such as 512MiB or 4GiB, have "512"`},
		{"a number for a text", "name: 6.0", `t.yaml:1:7: name: want a text in quotes such as "6.0", have the number 6.0`},
		{"a text for a number", "count: many", `t.yaml:1:8: count: want a whole number, have "many"`},
		{"a list for a text", "name: [a]", `t.yaml:1:7: name: want a text, have a list`},
		{"a text for a list", "list: a", `t.yaml:1:7: list: want a list, have "a"`},
		{"a text for keys", "part: a", `t.yaml:1:7: part: want keys and values, have "a"`},
		{"nothing for a text", "name:", `t.yaml:1:6: name: want a text, have nothing`},
		{"a key that stands twice", "name: a\nname: b", `t.yaml:2:1: name: stands twice, first on line 1`},
		{"two faults in one file", "nmae: a\nsize: big", "t.yaml:1:1: nmae: unknown key; did you mean \"name\"?\nt.yaml:2:7: size: want a size such as 512MiB or 4GiB, have \"big\""},
		{"no YAML at all", "name: [", "t.yaml:1:1: not YAML: did not find expected node content"},
		{"an empty file", "", "t.yaml: the file is empty"},
		{"a second document", "name: a\n---\nname: b", "t.yaml:2:1: a second document; want one in a file"},
		{"an alias that holds itself", "config: {a: &a [*a]}", "t.yaml:1:13: config.a" + strings.Repeat("[0]", 62) + ": nested deeper than 64 levels, or more than 100000 values"},
		{"a list for the whole", "- a", `t.yaml:1:1: want keys and values, have a list`},
	} {
		var into thing
		_, found := YAML("t.yaml", []byte(c.in), &into)
		if got := found.Error(); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func FuzzYAML(f *testing.F) {
	f.Add("name: a\nconfig: {a: &x [1], b: *x}")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, in string) {
		var into thing
		YAML("t.yaml", []byte(in), &into)
	})
}
