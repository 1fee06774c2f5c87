package browse

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
)

// The page before a real mongod with access control: GROVE_TEST_MONGOD is its command line, which `make accept ONLY=a3.browse.mongod` sets.

// startMongod gives the port and the log.
func startMongod(t *testing.T) (port int, log string) {
	t.Helper()
	words := strings.Fields(os.Getenv("GROVE_TEST_MONGOD"))
	if len(words) == 0 {
		t.Skip("GROVE_TEST_MONGOD is not set: not tried is whom a real mongod lets in, and what it shows to whom; make accept ONLY=a3.browse.mongod does")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = free.Addr().(*net.TCPAddr).Port
	free.Close()
	dir := t.TempDir()
	log = filepath.Join(dir, "mongod.log")
	c := exec.Command(words[0], append(words[1:], "--auth", "--bind_ip", "127.0.0.1", "--nounixsocket", "--port", strconv.Itoa(port), "--dbpath", dir, "--logpath", log, "--wiredTigerCacheSizeGB", "0.25")...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return port, log
}

func connect(t *testing.T, port int, o *options.ClientOptions) *mongo.Client {
	t.Helper()
	c, err := mongo.Connect(t.Context(), o.SetHosts([]string{fmt.Sprintf("127.0.0.1:%d", port)}).SetDirect(true).SetServerSelectionTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Disconnect(context.WithoutCancel(t.Context())) })
	return c
}

func command(t *testing.T, c *mongo.Client, db string, d bson.D) {
	t.Helper()
	if err := c.Database(db).RunCommand(t.Context(), d).Err(); err != nil {
		t.Fatal(err)
	}
}

// stock makes users and data: 45 books, three large documents, a view, and a database that the reader may not see.
func stock(t *testing.T, port int) {
	t.Helper()
	user := func(name string, roles ...bson.D) bson.D {
		list := bson.A{}
		for _, r := range roles {
			list = append(list, r)
		}
		return bson.D{{Key: "createUser", Value: name}, {Key: "pwd", Value: name + "'s"}, {Key: "roles", Value: list}}
	}
	command(t, connect(t, port, options.Client()), "admin", user("root", bson.D{{Key: "role", Value: "root"}, {Key: "db", Value: "admin"}})) // the localhost exception
	root := connect(t, port, options.Client().SetAuth(options.Credential{Username: "root", Password: "root's", AuthSource: "admin"}))
	command(t, root, "admin", user("reader", bson.D{{Key: "role", Value: "read"}, {Key: "db", Value: "shop"}}))
	command(t, root, "shop", user("nobody"))
	var books, large []any
	for n := range 45 {
		books = append(books, bson.D{{Key: "_id", Value: n}, {Key: "title", Value: fmt.Sprintf("<i>book</i> %d", n)}, {Key: "year", Value: 1980 + n}, {Key: "cover", Value: primitive.Binary{Data: make([]byte, 900)}}})
	}
	for n := range 3 {
		large = append(large, bson.D{{Key: "_id", Value: fmt.Sprintf("large %d", n)}, {Key: "text", Value: strings.Repeat("x", 2<<20)}})
	}
	insert := func(db, c string, docs []any) {
		if _, err := root.Database(db).Collection(c).InsertMany(t.Context(), docs); err != nil {
			t.Fatal(err)
		}
	}
	insert("shop", "books", books)
	insert("shop", "large", large)
	insert("vault", "keys", books[:1])
	if _, err := root.Database("shop").Collection("books").Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{Key: "year", Value: -1}}, Options: options.Index().SetUnique(true)}); err != nil {
		t.Fatal(err)
	}
	if err := root.Database("shop").CreateView(t.Context(), "recent", "books", bson.A{bson.D{{Key: "$match", Value: bson.D{{Key: "year", Value: bson.D{{Key: "$gte", Value: 2020}}}}}}}); err != nil {
		t.Fatal(err)
	}
}

// reader is a browser before the page as a node has it.
type reader struct {
	t    *testing.T
	base string
	http *http.Client
}

func open(t *testing.T, port int) *reader {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	opened, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- Serve(ctx, 0, Config{Node: func() string { return "db1" }, Mongod: func() int { return port }}, func(address string) { opened <- address })
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case address := <-opened:
		return &reader{t, "http://" + address, &http.Client{Jar: jar, Timeout: time.Minute}}
	case err := <-ended:
		t.Fatal(err)
	}
	return nil
}

func (r *reader) get(path string, v url.Values) (int, string) {
	r.t.Helper()
	return r.answer(r.http.Get(r.base + path + "?" + v.Encode()))
}

func (r *reader) answer(a *http.Response, err error) (int, string) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

func (r *reader) logIn(user, password, source string) (int, string) {
	r.t.Helper()
	_, page := r.get("/", nil)
	found := tokenForm.FindStringSubmatch(page)
	if found == nil {
		r.t.Fatalf("no form: %s", page)
	}
	return r.answer(r.http.PostForm(r.base+"/in", url.Values{"token": {found[1]}, "user": {user}, "password": {password}, "source": {source}}))
}

func (r *reader) shows(code int, page string, wantCode int, want ...string) {
	r.t.Helper()
	for _, w := range want {
		without := strings.HasPrefix(w, "!")
		if w = strings.TrimPrefix(w, "!"); code != wantCode || strings.Contains(page, w) == without {
			r.t.Errorf("got %d; want %d, and %q there: %v\n%s", code, wantCode, w, !without, page)
		}
	}
}

func TestMongodDecidesWhoSeesWhat(t *testing.T) {
	port, log := startMongod(t)
	stock(t, port)
	stranger := open(t, port)
	for _, who := range [][3]string{{"reader", "wrong", "admin"}, {"reader", "reader's", "shop"}, {"unknown", "x", "admin"}} {
		code, page := stranger.logIn(who[0], who[1], who[2])
		stranger.shows(code, page, 401, "mongod knows no such user with this password", `type="password"`)
	}
	r := open(t, port)
	code, page := r.logIn("reader", "reader's", "admin")
	r.shows(code, page, 200, "<h1>Databases</h1>", ">shop<", "!vault", "!reader&#39;s")
	code, page = r.get("/collections", url.Values{"db": {"shop"}})
	r.shows(code, page, 200, "4 in all", `>books</a></td><td class="n">45</td>`, `>recent</a></td><td colspan="5">a view</td>`)
	code, page = r.get("/collections", url.Values{"db": {"vault"}})
	r.shows(code, page, 502, "mongod refuses: not authorized on vault<", "!keys")
	code, page = r.get("/documents", url.Values{"db": {"vault"}, "c": {"keys"}})
	r.shows(code, page, 502, "mongod refuses: not authorized on vault<", "!book")

	n := open(t, port)
	code, page = n.logIn("nobody", "nobody's", "shop")
	n.shows(code, page, 200, "None that you may see")
	code, page = n.get("/documents", url.Values{"db": {"shop"}, "c": {"books"}})
	n.shows(code, page, 502, "mongod refuses: not authorized on shop<", "!book&lt;")

	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(regexp.MustCompile(`"msg":"Authentication succeeded","attr":{"mechanism":"SCRAM-SHA-256"[^\n]*"principalName":"(reader|nobody)"`).FindAll(text, -1)); n < 2 {
		t.Errorf("mongod tells of %d log-ins by SCRAM; want 2:\n%s", n, regexp.MustCompile(`[^\n]*uthentic[^\n]*`).FindAll(text, -1))
	}
}

func TestDocumentsOfARealMongod(t *testing.T) {
	port, _ := startMongod(t)
	stock(t, port)
	r := open(t, port)
	r.logIn("reader", "reader's", "admin")
	books := func(more ...string) url.Values {
		v := url.Values{"db": {"shop"}, "c": {"books"}}
		for i := 0; i < len(more); i += 2 {
			v.Set(more[i], more[i+1])
		}
		return v
	}
	code, page := r.get("/documents", books())
	r.shows(code, page, 200, "45 documents", "&#34;title&#34;: &#34;&lt;i&gt;book&lt;/i&gt; 0&#34;", "book&lt;/i&gt; 19", "!book&lt;/i&gt; 20", "… of 900 B", "year_-1", "&#34;unique&#34;: true", "Later")
	code, page = r.get("/documents", books("from", "40"))
	r.shows(code, page, 200, "book&lt;/i&gt; 44", `<ol start="41">`, "!Later")
	code, page = r.get("/documents", books("filter", `{"year": {"$gte": 2000, "$lt": 2003}}`, "sort", `{"year": -1}`, "projection", `{"year": 1, "_id": 0}`))
	r.shows(code, page, 200, "{\n  &#34;year&#34;: 2002\n}", "!title&#34;: &#34;", "!2003\n")
	if a, b := strings.Index(page, "year&#34;: 2002"), strings.Index(page, "year&#34;: 2000"); a < 0 || b < a {
		t.Errorf("not sorted: %s", page)
	}
	code, page = r.get("/documents", books("filter", `{"year": {"$nonsense": 1}}`))
	r.shows(code, page, 502, "mongod refuses: unknown operator: $nonsense", "$nonsense&#34;: 1}}</textarea>")
	code, page = r.get("/documents", books("filter", `{"$where": "sleep(10000)"}`))
	r.shows(code, page, 422, "$where is refused")
	code, page = r.get("/documents", url.Values{"db": {"shop"}, "c": {"recent"}})
	r.shows(code, page, 200, "book&lt;/i&gt; 40", "!book&lt;/i&gt; 39")
	seen, from := 0, "0"
	for range 5 {
		_, page = r.get("/documents", url.Values{"db": {"shop"}, "c": {"large"}, "from": {from}})
		if len(page) > 60<<10 {
			t.Errorf("a page of %d bytes", len(page))
		}
		seen += strings.Count(page, "_id&#34;: &#34;large")
		later := regexp.MustCompile(`from=(\d+)[^"]*">Later`).FindStringSubmatch(page)
		if later == nil {
			break
		}
		from = later[1]
	}
	if seen != 3 {
		t.Errorf("%d large documents seen, page by page; want 3", seen)
	}
}

// A filter that goes on and on is ended by mongod.
func TestAFilterHasItsTime(t *testing.T) {
	port, _ := startMongod(t)
	stock(t, port)
	r := open(t, port)
	r.logIn("reader", "reader's", "admin")
	slow := `{"$expr": {"$gt": [{"$reduce": {"input": {"$range": [0, 20000]}, "initialValue": 0, "in": {"$add": ["$$value", {"$size": {"$range": [0, {"$multiply": ["$year", 5]}]}}]}}}, 0]}}` // a second for each document
	begin := time.Now()
	code, page := r.get("/documents", url.Values{"db": {"shop"}, "c": {"books"}, "filter": {slow}})
	r.shows(code, page, 502, "this takes longer than 5s; an index or a narrower filter would help")
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("took %s", took)
	}
}
