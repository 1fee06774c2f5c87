package browse

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestQueriesAreReadOrRefused(t *testing.T) {
	for _, c := range []struct {
		name, key, text string
		want            string // the filter, or why it is refused
	}{
		{"nothing", "filter", " ", "[]"},
		{"a comparison", "filter", `{"year": {"$gte": 2000}}`, "[{year [{$gte 2000}]}]"},
		{"an id", "filter", `{"_id": {"$oid": "507f1f77bcf86cd799439011"}}`, `[{_id ObjectID("507f1f77bcf86cd799439011")}]`},
		{"no JSON", "filter", `{year: 2000}`, `refused: filter: want a document in extended JSON such as {"year": {"$gte": 2000}}: `},
		{"no document", "filter", `[1]`, "refused: filter: want a document"},
		{"too much", "filter", `{"a": "` + strings.Repeat("x", 5000) + `"}`, "refused: filter: want at most 4096 bytes, have 5009"},
		{"$where", "filter", `{"$where": "sleep(1000)"}`, "refused: filter: $where is refused: this page only reads, and has mongod run no program"},
		{"$where further down", "filter", `{"$or": [{"a": 1}, {"$and": [{"$where": "1"}]}]}`, "refused: filter: $where is refused"},
		{"$where, its dollar escaped", "filter", `{"\u0024where": "1"}`, "refused: filter: $where is refused"},
		{"$function", "filter", `{"$expr": {"$function": {"body": "x", "args": [], "lang": "js"}}}`, "refused: filter: $function is refused"},
		{"$function in a projection", "projection", `{"a": {"$function": {}}}`, "refused: projection: $function is refused"},
		{"$accumulator", "projection", `{"a": {"$accumulator": {}}}`, "refused: projection: $accumulator is refused"},
		{"$out", "filter", `{"$out": "x"}`, "refused: filter: $out is refused"},
		{"$merge in a sort", "sort", `{"$merge": 1}`, "refused: sort: $merge is refused"},
		{"a program as a value", "filter", `{"a": {"$code": "x"}}`, "refused: filter: a program is refused"},
		{"a program with variables", "filter", `{"a": {"$code": "x", "$scope": {}}}`, "refused: filter: a program is refused"},
		{"a beginning that is none", "from", "-1", `refused: from: want a number, have "-1"`},
		{"one far behind", "from", "10001", "refused: from: want at most 10000; a filter finds the rest faster"},
	} {
		q, err := parseQuery(url.Values{"db": {"d"}, "c": {"c"}, c.key: {c.text}})
		got := fmt.Sprint(q.filter)
		if err != nil {
			got = "refused: " + err.Error()
		}
		if refusal := strings.HasPrefix(c.want, "refused"); refusal && !strings.HasPrefix(got, c.want) || !refusal && got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}
