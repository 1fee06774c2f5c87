package extjson

import (
	"math"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

func raw(t *testing.T, d bson.D) bson.Raw {
	t.Helper()
	data, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestShow(t *testing.T) {
	id, _ := primitive.ObjectIDFromHex("507f1f77bcf86cd799439011")
	decimal, _ := primitive.ParseDecimal128("1.50")
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{"a text", `a "b" <c> & \`, `"a \"b\" <c> & \\"`},
		{"a line's end and a control character", "a\nb\x01", `"a\nb\u0001"`},
		{"a text of 501 bytes", strings.Repeat("a", 501), `"` + strings.Repeat("a", 500) + `… of 501 B"`},
		{"a cut within a character", strings.Repeat("a", 499) + "éé", `"` + strings.Repeat("a", 499) + `… of 503 B"`},
		{"a small number", int32(7), "7"},
		{"a large number", int64(1) << 60, "1152921504606846976"},
		{"a fraction", 1.5, "1.5"},
		{"no number", math.Inf(1), `{"$numberDouble":"Infinity"}`},
		{"a decimal", decimal, `{"$numberDecimal":"1.50"}`},
		{"an id", id, `{"$oid":"507f1f77bcf86cd799439011"}`},
		{"a time", primitive.NewDateTimeFromTime(time.Date(2015, 3, 1, 12, 0, 0, 0, time.UTC)), `{"$date":"2015-03-01T12:00:00Z"}`},
		{"nothing", nil, "null"},
		{"yes", true, "true"},
		{"a pattern", primitive.Regex{Pattern: "^a/b", Options: "i"}, `{"$regularExpression":{"pattern":"^a/b","options":"i"}}`},
		{"a pattern too long", primitive.Regex{Pattern: strings.Repeat("a", 2000)}, `"regex"`},
		{"a program", primitive.JavaScript("function() {}"), `{"$code": "function() {}"}`},
		{"a UUID", primitive.Binary{Subtype: 4, Data: make([]byte, 16)}, `{"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAA==", "subType": "04"}}`},
		{"33 bytes", primitive.Binary{Data: make([]byte, 33)}, `{"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA… of 33 B", "subType": "00"}}`},
		{"an empty list", bson.A{}, "[]"},
		{"an empty document", bson.D{}, "{}"},
		{"a list", bson.A{1, "b"}, "[\n    1,\n    \"b\"\n  ]"},
		{"a document", bson.D{{Key: "a", Value: bson.D{{Key: "b", Value: 1}}}}, "{\n    \"a\": {\n      \"b\": 1\n    }\n  }"},
	} {
		got := Show(raw(t, bson.D{{Key: "v", Value: c.value}}))
		if want := "{\n  \"v\": " + c.want + "\n}"; got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, want)
		}
	}
}

// What is not cut is the document: the driver reads it back.
func TestShownIsTheDocument(t *testing.T) {
	want := bson.D{{Key: "_id", Value: primitive.NewObjectID()}, {Key: `k"<>`, Value: "v\u2028"}, {Key: "when", Value: primitive.DateTime(1425211200000)},
		{Key: "in", Value: bson.D{{Key: "list", Value: bson.A{int32(1), 2.5, "x", nil, bson.D{}}}}}, {Key: "data", Value: primitive.Binary{Subtype: 0, Data: []byte{1, 2, 3}}},
		{Key: "at", Value: primitive.Timestamp{T: 1, I: 2}}, {Key: "least", Value: primitive.MinKey{}}}
	before := raw(t, want)
	var got bson.D
	if err := bson.UnmarshalExtJSON([]byte(Show(before)), false, &got); err != nil {
		t.Fatal(err)
	}
	if after := raw(t, got); string(after) != string(before) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestALongDocumentIsCut(t *testing.T) {
	var list bson.A
	for range 20000 {
		list = append(list, "0123456789")
	}
	got := Show(raw(t, bson.D{{Key: "v", Value: list}}))
	if len(got) > mostShown+100 || !strings.HasSuffix(got, "\n… cut here: the document has 419 KiB") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-60:])
	}
	deep := bson.D{}
	for range 150 {
		deep = bson.D{{Key: "d", Value: deep}}
	}
	if got := Show(raw(t, deep)); !strings.Contains(got, "{…}") {
		t.Errorf("a deep one is not cut: %s", got)
	}
}

func TestWhatIsNoBSONIsSaidToBe(t *testing.T) {
	if got := Show(bson.Raw{5, 0, 0, 0}); !strings.HasPrefix(got, `"not BSON: `) {
		t.Errorf("got %s", got)
	}
}
