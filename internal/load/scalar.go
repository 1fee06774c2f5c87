package load

import (
	"fmt"
	"math"
	"reflect"
	"strconv"

	"gopkg.in/yaml.v3"
)

// kind names what stands there, in a person's words.
func (d *decoder) kind(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "keys and values"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	case d.hidden:
		return "something else"
	case n.Tag == "!!int" || n.Tag == "!!float":
		return "the number " + n.Value
	case n.Tag == "!!bool":
		return n.Value
	}
	return fmt.Sprintf("%q", n.Value)
}

func (d *decoder) text(n *yaml.Node, key string, read func(string) error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.add(n, key, "want a text, have "+d.kind(n))
		return
	}
	if err := read(n.Value); err != nil {
		d.add(n, key, err.Error())
	}
}

func (d *decoder) scalar(n *yaml.Node, key string, to reflect.Value) {
	bad := func(want string) { d.add(n, key, "want "+want+", have "+d.kind(n)) }
	switch to.Kind() {
	case reflect.String:
		switch {
		case n.Kind == yaml.ScalarNode && n.Tag == "!!str":
			to.SetString(n.Value)
		case n.Kind == yaml.ScalarNode && n.Tag != "!!null":
			bad(fmt.Sprintf(`a text in quotes such as "%s"`, n.Value))
		default:
			bad("a text")
		}
	case reflect.Bool:
		if n.Tag != "!!bool" {
			bad("true or false")
			return
		}
		to.SetBool(n.Value == "true" || n.Value == "True" || n.Value == "TRUE")
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(n.Value, 10, 64)
		if n.Tag != "!!int" || err != nil || to.OverflowInt(i) {
			bad("a whole number")
			return
		}
		to.SetInt(i)
	default:
		panic("BUG: load has no rule for " + to.Type().String())
	}
}

// any takes what YAML gives, in the types that JSON has: mongod's configuration is handed on as it stands.
func (d *decoder) any(n *yaml.Node, key string, to reflect.Value) {
	var got any
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		d.dict(n, key, reflect.ValueOf(&m).Elem())
		got = m
	case yaml.SequenceNode:
		l := []any{}
		d.list(n, key, reflect.ValueOf(&l).Elem())
		got = l
	default:
		if err := n.Decode(&got); err != nil {
			d.add(n, key, err.Error())
			return
		}
		if f, ok := got.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
			d.add(n, key, "want a finite number, have "+n.Value)
			return
		}
		switch got.(type) {
		case nil, bool, int, int64, uint64, float64, string:
		default: // a time stamp or binary: keep its text
			got = n.Value
		}
	}
	if got != nil {
		to.Set(reflect.ValueOf(got))
	}
}
