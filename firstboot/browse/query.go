package browse

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// query is what a person wants to see of a collection.
type query struct {
	database, collection     string
	filter, sort, projection bson.D
	from                     int // so many are passed over
}

const (
	perPage  = 20
	mostFrom = 10000 // mongod walks over each that is passed over
	mostText = 4 << 10
)

// parseQuery reads a form; what it refuses, it says why.
func parseQuery(v url.Values) (q query, err error) {
	q.database, q.collection = v.Get("db"), v.Get("c")
	if q.from, err = from(v.Get("from")); err != nil {
		return q, err
	}
	for _, part := range []struct {
		name, example string
		into          *bson.D
	}{{"filter", `{"year": {"$gte": 2000}}`, &q.filter}, {"sort", `{"year": -1}`, &q.sort}, {"projection", `{"title": 1}`, &q.projection}} {
		if *part.into, err = document(v.Get(part.name), part.example); err != nil {
			return q, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return q, nil
}

func from(text string) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case text == "":
		return 0, nil
	case err != nil || n < 0:
		return 0, fmt.Errorf("from: want a number, have %q", text)
	case n > mostFrom:
		return 0, fmt.Errorf("from: want at most %d; a filter finds the rest faster", mostFrom)
	}
	return n, nil
}

func document(text, example string) (d bson.D, err error) {
	if strings.TrimSpace(text) == "" {
		return bson.D{}, nil
	}
	if len(text) > mostText {
		return nil, fmt.Errorf("want at most %d bytes, have %d", mostText, len(text))
	}
	if err := bson.UnmarshalExtJSON([]byte(text), false, &d); err != nil {
		return nil, fmt.Errorf("want a document in extended JSON such as %s: %w", example, err)
	}
	return d, runs(d)
}

// programs are words by which mongod would run a program of the person's, or write: with the rights of a user who may, which a page for looking must not lend.
var programs = []string{"$where", "$function", "$accumulator", "$out", "$merge"}

// runs refuses them wherever they stand.
func runs(v any) error {
	switch v := v.(type) {
	case bson.D:
		for _, e := range v {
			if slices.Contains(programs, e.Key) {
				return fmt.Errorf("%s is refused: this page only reads, and has mongod run no program", e.Key)
			}
			if err := runs(e.Value); err != nil {
				return err
			}
		}
	case bson.A:
		for _, e := range v {
			if err := runs(e); err != nil {
				return err
			}
		}
	case primitive.JavaScript, primitive.CodeWithScope:
		return errors.New("a program is refused: this page only reads, and has mongod run none")
	}
	return nil
}
