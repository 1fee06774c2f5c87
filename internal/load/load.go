// Package load reads YAML into a struct without letting anything pass: unknown and repeated keys, wrong types and values out of form are findings with
// line and column, all of them at once.
//
// yaml.v3 parses to nodes; what it would guess or ignore is decided here. Fields are matched by their `yaml` tag. Handled are structs, strings, whole
// numbers, booleans, lists, maps with text keys, `any`, and types that read text (encoding.TextUnmarshaler), or a struct with a
// short form (Short). Of a file that may have a secret (Confidential) no finding repeats a line, nor what stands in a secret's place.
package load

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"grove/internal/diag"
)

// Source knows where each key of a file stands, so that faults found later point there too.
type Source struct {
	name  string
	lines []string
	at    map[string]diag.Place
}

// YAML reads one document into the struct that into points to. name is the file as findings show it. With findings the struct is filled as far as it went.
func YAML(name string, data []byte, into any) (Source, diag.Findings) {
	d := decoder{src: Source{name: name, at: map[string]diag.Place{}}}
	if !hides(reflect.TypeOf(into).Elem()) {
		d.src.lines = strings.Split(string(data), "\n")
	}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		d.add(nil, "", "the file is empty")
		return d.src, d.found
	} else if err != nil {
		d.syntax(err)
		return d.src, d.found
	}
	d.value(doc.Content[0], "", reflect.ValueOf(into).Elem())
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		d.add(&second, "", "a second document; want one in a file")
	} else if !errors.Is(err, io.EOF) {
		d.syntax(err)
	}
	return d.src, d.found
}

// At is the place of a key's value such as mongod.source.sha256, or of the nearest key above it that the file has.
func (s Source) At(key string) diag.Place {
	for key != "" {
		if p, ok := s.at[key]; ok {
			return p
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return diag.Place{File: s.name}
}

// Finding is a fault of a key's value.
func (s Source) Finding(key, text string) diag.Finding {
	return diag.Finding{Place: s.At(key), Key: key, Text: text}
}

// Short is a struct that may be written as one text instead of keys and values.
type Short interface{ FromText(text string) error }

// Confidential is a type whose values nobody may see.
type Confidential interface{ Confidential() }

var confidential = reflect.TypeFor[Confidential]()

// hides says whether a type is confidential or has a field that is.
func hides(t reflect.Type) bool {
	if t.Implements(confidential) {
		return true
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if hides(t.Field(i).Type) {
			return true
		}
	}
	return false
}

type decoder struct {
	src   Source
	found diag.Findings
	depth int
	seen  int

	hidden bool // the value at hand is confidential, or holds one that is
}

// A file of ours has some hundred values. The bounds stop aliases that contain themselves or each other many times over.
const deepest, most = 64, 100_000

func (d *decoder) place(n *yaml.Node) diag.Place {
	p := diag.Place{File: d.src.name}
	if n != nil && n.Line > 0 {
		p.Line, p.Col = n.Line, n.Column
		if n.Line <= len(d.src.lines) { // else it may hold a secret
			p.Text = d.src.lines[n.Line-1]
		}
	}
	return p
}

func (d *decoder) add(n *yaml.Node, key, text string) {
	d.found = append(d.found, diag.Finding{Place: d.place(n), Key: key, Text: text})
}

var lineOf = regexp.MustCompile(`line (\d+): (.*)`)

func (d *decoder) syntax(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	n := &yaml.Node{}
	if m := lineOf.FindStringSubmatch(text); m != nil {
		n.Line, _ = strconv.Atoi(m[1])
		n.Column, text = 1, m[2]
	}
	d.add(n, "", "not YAML: "+text)
}

func (d *decoder) value(n *yaml.Node, key string, to reflect.Value) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if d.seen++; d.seen > most {
		return
	}
	if d.depth >= deepest || d.seen == most {
		d.add(n, key, fmt.Sprintf("nested deeper than %d levels, or more than %d values", deepest, most))
		return
	}
	d.depth++
	defer func() { d.depth-- }()
	d.src.at[key] = d.place(n)
	defer func(outside bool) { d.hidden = outside }(d.hidden)
	d.hidden = hides(to.Type())
	if short, ok := to.Addr().Interface().(Short); ok && n.Kind == yaml.ScalarNode {
		d.text(n, key, short.FromText)
		return
	}
	if text, ok := to.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.text(n, key, func(s string) error { return text.UnmarshalText([]byte(s)) })
		return
	}
	switch to.Kind() {
	case reflect.Struct:
		d.fields(n, key, to)
	case reflect.Slice:
		d.list(n, key, to)
	case reflect.Map:
		d.dict(n, key, to)
	case reflect.Interface:
		d.any(n, key, to)
	default:
		d.scalar(n, key, to)
	}
}

func (d *decoder) fields(n *yaml.Node, key string, to reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.add(n, key, "want keys and values, have "+d.kind(n))
		return
	}
	fields := fieldsOf(to)
	names := slices.Sorted(maps.Keys(fields))
	d.pairs(n, key, func(name string, k, v *yaml.Node, path string) {
		field, known := fields[name]
		if !known {
			meant := diag.Meant(name, names)
			if meant == "" {
				meant = "; known here: " + strings.Join(names, ", ")
			}
			d.add(k, path, "unknown key"+meant)
			return
		}
		d.value(v, path, field)
	})
}

// fieldsOf gives the fields by their keys, those of an inline struct as its own.
func fieldsOf(to reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for i := range to.NumField() {
		name, rest, _ := strings.Cut(to.Type().Field(i).Tag.Get("yaml"), ",")
		if rest == "inline" {
			maps.Copy(fields, fieldsOf(to.Field(i)))
		} else if name != "-" && name != "" {
			fields[name] = to.Field(i)
		}
	}
	return fields
}

// pairs goes through a mapping and reports keys that are no text or stand twice.
func (d *decoder) pairs(n *yaml.Node, key string, each func(name string, k, v *yaml.Node, path string)) {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			d.add(k, key, "want a text as key, have "+d.kind(k))
			continue
		}
		path := k.Value
		if key != "" {
			path = key + "." + k.Value
		}
		if line, twice := seen[k.Value]; twice {
			d.add(k, path, fmt.Sprintf("stands twice, first on line %d", line))
			continue
		}
		seen[k.Value] = k.Line
		each(k.Value, k, v, path)
	}
}

func (d *decoder) list(n *yaml.Node, key string, to reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.add(n, key, "want a list, have "+d.kind(n))
		return
	}
	list := reflect.MakeSlice(to.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		d.value(item, fmt.Sprintf("%s[%d]", key, i), list.Index(i))
	}
	to.Set(list)
}

func (d *decoder) dict(n *yaml.Node, key string, to reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.add(n, key, "want keys and values, have "+d.kind(n))
		return
	}
	m := reflect.MakeMap(to.Type())
	d.pairs(n, key, func(name string, _, v *yaml.Node, path string) {
		item := reflect.New(to.Type().Elem()).Elem()
		d.value(v, path, item)
		m.SetMapIndex(reflect.ValueOf(name), item)
	})
	to.Set(m)
}
