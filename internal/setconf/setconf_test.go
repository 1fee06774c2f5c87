package setconf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"

	"grove/internal/spec"
)

var replicaSetID = primitive.NewObjectID()

func d(pairs ...any) (doc bson.D) {
	for i := 0; i < len(pairs); i += 2 {
		doc = append(doc, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return doc
}

// three is as mongod gives it, with a field that this program does not know.
func three() Config {
	return Config{d("_id", "rs0", "version", int32(7), "term", int64(3), "members", primitive.A{
		d("_id", int32(0), "host", "db1:27017", "priority", 2.0),
		d("_id", int32(1), "host", "db2:27017", "votes", int64(0), "priority", int32(0)),
		d("_id", int32(4), "host", "db3:27017", "newer", d("x", int64(1))),
	}, "settings", d("replicaSetId", replicaSetID))}
}

func TestAChangeLeavesAllElseAsItWas(t *testing.T) {
	settings := d("replicaSetId", replicaSetID)
	for _, c := range []struct {
		name string
		do   func(Config) (Config, error)
		want primitive.A
	}{
		{"a vote and a priority, in the kinds that were there", func(c Config) (Config, error) { return c.Change("db2:27017", 1, 1) }, primitive.A{
			d("_id", int32(0), "host", "db1:27017", "priority", 2.0), d("_id", int32(1), "host", "db2:27017", "votes", int64(1), "priority", int32(1)),
			d("_id", int32(4), "host", "db3:27017", "newer", d("x", int64(1)))}},
		{"a priority that is no whole number", func(c Config) (Config, error) { return c.Change("db2:27017", 1, 0.5) }, primitive.A{
			d("_id", int32(0), "host", "db1:27017", "priority", 2.0), d("_id", int32(1), "host", "db2:27017", "votes", int64(1), "priority", 0.5),
			d("_id", int32(4), "host", "db3:27017", "newer", d("x", int64(1)))}},
		{"a member goes", func(c Config) (Config, error) { return c.Without("db2:27017") }, primitive.A{
			d("_id", int32(0), "host", "db1:27017", "priority", 2.0), d("_id", int32(4), "host", "db3:27017", "newer", d("x", int64(1)))}},
		{"a member comes, under an id that was never given", func(c Config) (Config, error) {
			return c.With(Member{Host: "db4:27017", Hidden: true, Tags: map[string]string{"b": "2", "a": "1"}})
		}, primitive.A{
			d("_id", int32(0), "host", "db1:27017", "priority", 2.0), d("_id", int32(1), "host", "db2:27017", "votes", int64(0), "priority", int32(0)),
			d("_id", int32(4), "host", "db3:27017", "newer", d("x", int64(1))),
			d("_id", int32(5), "host", "db4:27017", "priority", 0.0, "votes", int32(0), "hidden", true, "tags", d("a", "1", "b", "2"))}},
	} {
		was := three()
		got, err := c.do(was)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(d("_id", "rs0", "version", int32(8), "members", c.want, "settings", settings), got.Document()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if diff := cmp.Diff(three().Document(), was.Document()); diff != "" {
			t.Errorf("%s has changed what it began with: %s", c.name, diff)
		}
	}
}

func TestWhatMongoDBWouldRefuseIsNotSent(t *testing.T) {
	many := Found("rs0", Member{Host: "h0:1", Votes: 1, Priority: 1})
	for i := 1; i < MostVoters; i++ {
		var err error
		if many, err = many.With(Member{Host: fmt.Sprintf("h%d:1", i), Votes: 1, Priority: 1}); err != nil {
			t.Fatal(err)
		}
	}
	full := many
	for i := MostVoters; i < MostMembers; i++ {
		var err error
		if full, err = full.With(Member{Host: fmt.Sprintf("h%d:1", i)}); err != nil {
			t.Fatal(err)
		}
	}
	last := Found("rs0", Member{Host: "a:1", Votes: 1, Priority: 1})
	top := Config{d("_id", "rs0", "version", int32(1), "members", primitive.A{d("_id", int32(255), "host", "a:1"), d("_id", int32(0), "host", "b:1")})}
	for _, c := range []struct {
		name string
		do   func() (Config, error)
		want string
	}{
		{"an eighth vote", func() (Config, error) { return many.With(Member{Host: "x:1", Votes: 1}) }, "rs0 would have 8 votes, and MongoDB takes at most 7"},
		{"a fifty-first member", func() (Config, error) { return full.With(Member{Host: "x:1"}) }, "rs0 would have 51 members, and MongoDB takes at most 50"},
		{"one that is there", func() (Config, error) { return last.With(Member{Host: "a:1"}) }, "a:1 is a member of rs0 already"},
		{"a priority without a vote", func() (Config, error) { return last.With(Member{Host: "b:1", Priority: 1}) }, "b:1: a priority of 1 goes with a vote and data that clients see"},
		{"no port", func() (Config, error) { return last.With(Member{Host: "b"}) }, `member "b": want HOST:PORT`},
		{"nobody left to be primary", func() (Config, error) { return last.Change("a:1", 1, 0) }, "no member of rs0 could become primary"},
		{"a stranger is changed", func() (Config, error) { return last.Change("b:1", 1, 0) }, "b:1 is no member of rs0"},
		{"a stranger is taken out", func() (Config, error) { return last.Without("b:1") }, "b:1 is no member of rs0"},
		{"beyond the last id a free one is taken", func() (Config, error) { return top.With(Member{Host: "c:1"}) }, ""},
	} {
		got := ""
		next, err := c.do()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
		}
		if m, in := next.Find("c:1"); c.want == "" && (!in || m.ID == 0 || m.ID == 255) {
			t.Errorf("%s: got %+v", c.name, m)
		}
	}
}

func TestWhatIsNoConfiguration(t *testing.T) {
	for name, doc := range map[string]bson.D{"nothing": nil, "no version": d("_id", "rs0"), "no members": d("_id", "rs0", "version", int32(1))} {
		if _, err := Read(doc); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	if c, err := Read(three().Document()); err != nil || c.Set() != "rs0" || c.Version() != 7 || c.Voters() != 2 {
		t.Errorf("got %v, %v", c, err)
	}
}

func members(text string) (set spec.ReplicaSet) {
	set.Name = "rs0"
	for _, word := range strings.Fields(text) {
		host, marks, _ := strings.Cut(word, "/")
		m := spec.Member{Host: host}
		for _, mark := range marks {
			switch mark {
			case 'a':
				m.Arbiter = true
			case 'h':
				m.Hidden = true
			case '0', '1':
				m.Votes = spec.Number{Set: true, Value: float64(mark - '0')}
			case 'p':
				m.Priority = spec.Number{Set: true, Value: 5}
			}
		}
		set.Members = append(set.Members, m)
	}
	return set
}

func TestVotesThatTheRecipeLeavesOpen(t *testing.T) {
	for _, c := range []struct{ members, want string }{
		{"a", "a:1/1"},
		{"a b", "a:1/1 b:0/0"},
		{"a b c", "a:1/1 b:1/1 c:1/1"},
		{"a b c d", "a:1/1 b:1/1 c:1/1 d:0/0"},
		{"a b c d e f g h", "a:1/1 b:1/1 c:1/1 d:1/1 e:1/1 f:1/1 g:1/1 h:0/0"},
		{"a b c/a", "a:1/1 b:1/1 c:1/0"},
		{"a b/a", "a:1/1 b:1/0"},
		{"a b/1", "a:1/1 b:1/1"},
		{"a b/h c", "a:1/1 b:1/0 c:1/1"},
		{"a/p b/0 c d", "a:1/5 b:0/0 c:1/1 d:1/1"},
		{"a b c d/1", "a:1/1 b:1/1 c:0/0 d:1/1"},
	} {
		var got []string
		for _, m := range Wanted(members(c.members), 1) {
			got = append(got, fmt.Sprintf("%s:%d/%g", name(m.Host), m.Votes, m.Priority))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: got %s; want %s", c.members, text, c.want)
		}
	}
}

func TestDriftIsToldAndNothingElse(t *testing.T) {
	want := []string{
		"db1:27017 has priority 2 in the set, 1 in the recipe",
		"db2:27017 has votes 0 in the set, 1 in the recipe",
		"db2:27017 has priority 0 in the set, 1 in the recipe",
		"db3:27017 is in the set and not in the recipe; if it has left, take it out: grove set remove db3",
		"db4:27017 is in the recipe and has not joined",
	}
	if diff := cmp.Diff(want, Drift(three(), Wanted(members("db1 db2 db4"), 27017))); diff != "" {
		t.Error(diff)
	}
}
