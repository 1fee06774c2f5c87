// Package extjson is documents as a person reads them: relaxed extended JSON, indented, in which what is long is cut and says so.
package extjson

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/bsontype"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"grove/internal/size"
)

// What is shown of a long one.
const (
	mostShown  = 16 << 10 // of a document's text
	mostString = 500
	mostBinary = 32
	mostDepth  = 60
)

// Show gives a document's text.
func Show(doc bson.Raw) string {
	if err := doc.Validate(); err != nil {
		return quote("not BSON: " + err.Error())
	}
	w := &writer{}
	w.fields(doc, 0, false)
	if w.full {
		return w.String() + fmt.Sprintf("\n… cut here: the document has %s", size.Size(len(doc)).Short())
	}
	return w.String()
}

type writer struct {
	strings.Builder
	full bool
}

func (w *writer) put(texts ...string) {
	text := strings.Join(texts, "")
	if w.full = w.full || w.Len()+len(text) > mostShown; !w.full {
		w.WriteString(text)
	}
}

// fields are a document's or an array's, one read after the other: of 16 MiB there may be a million.
func (w *writer) fields(raw bson.Raw, depth int, array bool) {
	open, end := "{", "}"
	if array {
		open, end = "[", "]"
	}
	rest := raw[4 : len(raw)-1] // the length stands before them, a zero after
	switch {
	case len(rest) == 0:
		w.put(open, end)
		return
	case depth > mostDepth:
		w.put(open, "…", end)
		return
	}
	before := open
	for len(rest) > 0 && !w.full {
		e, after, ok := bsoncore.ReadElement(rest)
		if !ok {
			break // it was seen to be BSON
		}
		name := ""
		if !array {
			name = quote(e.Key()) + ": "
		}
		w.put(before, "\n", strings.Repeat("  ", depth+1), name)
		w.value(bson.RawElement(e).Value(), depth+1)
		before, rest = ",", after
	}
	w.put("\n", strings.Repeat("  ", depth), end)
}

func (w *writer) value(v bson.RawValue, depth int) {
	switch v.Type {
	case bsontype.EmbeddedDocument:
		w.fields(v.Document(), depth, false)
	case bsontype.Array:
		w.fields(v.Array(), depth, true)
	case bsontype.String:
		w.put(cutQuote(v.StringValue()))
	case bsontype.Binary:
		kind, data := v.Binary()
		w.put(binary(kind, data))
	case bsontype.JavaScript:
		w.put(`{"$code": ` + cutQuote(v.JavaScript()) + "}")
	default:
		w.put(scalar(v))
	}
}

// scalar lets the driver write what has a short form. It gives {"v":...}.
func scalar(v bson.RawValue) string {
	data, err := bson.MarshalExtJSON(bson.D{{Key: "v", Value: v}}, false, false)
	text := strings.TrimSuffix(strings.TrimPrefix(string(data), `{"v":`), "}")
	if err != nil || len(text) > mostString*2 {
		return quote(v.Type.String())
	}
	return text
}

func binary(kind byte, data []byte) string {
	if len(data) <= mostBinary {
		return fmt.Sprintf(`{"$binary": {"base64": "%s", "subType": "%02x"}}`, base64.StdEncoding.EncodeToString(data), kind)
	}
	return fmt.Sprintf(`{"$binary": {"base64": "%s… of %s", "subType": "%02x"}}`, base64.StdEncoding.EncodeToString(data[:mostBinary-mostBinary%3]), size.Size(len(data)).Short(), kind)
}

func cutQuote(s string) string {
	if len(s) <= mostString {
		return quote(s)
	}
	return quote(Short(s, mostString) + " of " + size.Size(len(s)).Short())
}

// quote is JSON's, without its escapes for HTML: the page has its own.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}

// Short cuts a text between two characters.
func Short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
