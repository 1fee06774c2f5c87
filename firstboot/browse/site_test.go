package browse

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
)

// shop is a mongod with one user.
type shop struct {
	dials  int
	open   int
	asked  query
	denied error // of every question
}

func (s *shop) dial(_ context.Context, _ int, who login) (server, error) {
	s.dials++
	if who != (login{"ann", "secret", "admin"}) {
		return nil, errWrong
	}
	s.open++
	return s, nil
}

func (s *shop) Close() { s.open-- }
func (s *shop) Databases(context.Context) ([]database, error) {
	return []database{{"a&b", 8192}}, s.denied
}
func (s *shop) Collections(context.Context, string) ([]collection, error) {
	var all []collection
	for n := range 60 {
		all = append(all, collection{fmt.Sprintf("c%02d", n), n == 1})
	}
	return all, s.denied
}
func (s *shop) Sizes(_ context.Context, _, name string) (sizes, error) {
	if name == "c02" {
		return sizes{}, mongo.CommandError{Code: 13, Message: "not authorized on a to execute command { collStats: 1 }"}
	}
	return sizes{Count: 12, Size: 1024, Storage: 4096, Indexes: 1, IndexSize: 2048}, s.denied
}
func (s *shop) Indexes(context.Context, string, string) ([]bson.Raw, error) {
	data, err := bson.Marshal(bson.D{{Key: "name", Value: "_id_"}})
	return []bson.Raw{data}, err
}
func (s *shop) Documents(_ context.Context, q query, show func(bson.Raw)) (bool, error) {
	s.asked = q
	data, err := bson.Marshal(bson.D{{Key: "text", Value: "<script>alert(1)</script>"}})
	show(data)
	return true, err
}

// visit is a browser.
type visit struct {
	t      *testing.T
	site   *Site
	cookie *http.Cookie
	host   string
	local  net.IP
}

func newVisit(t *testing.T) (*visit, *shop) {
	t.Helper()
	s, err := New(Config{Node: func() string { return "db1" }, Mongod: func() int { return 27017 }})
	if err != nil {
		t.Fatal(err)
	}
	v := &shop{}
	s.dial = v.dial
	return &visit{t: t, site: s, host: "localhost:8081", local: net.IPv4(127, 0, 0, 1)}, v
}

// ask sends a request, and keeps the cookie that comes back.
func (v *visit) ask(method, target string, form url.Values) *http.Response {
	v.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Host = v.host
	if v.cookie != nil {
		r.AddCookie(v.cookie)
	}
	w := httptest.NewRecorder()
	v.site.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: v.local, Port: 8081})))
	for _, c := range w.Result().Cookies() {
		v.cookie = c
	}
	return w.Result()
}

func (v *visit) text(method, target string, form url.Values) (int, string) {
	v.t.Helper()
	r := v.ask(method, target, form)
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		v.t.Fatal(err)
	}
	return r.StatusCode, b.String()
}

var tokenForm = regexp.MustCompile(`name="token" value="([^"]{43})"`)

// logIn goes by the form, as a person does.
func (v *visit) logIn(user, password string) int {
	v.t.Helper()
	_, page := v.text("GET", "/", nil)
	found := tokenForm.FindStringSubmatch(page)
	if found == nil {
		v.t.Fatalf("no form: %s", page)
	}
	return v.ask("POST", "/in", url.Values{"token": {found[1]}, "user": {user}, "password": {password}}).StatusCode
}

func TestNothingIsShownWithoutAPassword(t *testing.T) {
	v, shop := newVisit(t)
	for _, target := range []string{"/", "/collections?db=a", "/documents?db=a&c=b"} {
		if code, page := v.text("GET", target, nil); code != 401 || !strings.Contains(page, `type="password"`) {
			t.Errorf("%s: got %d; want the form", target, code)
		}
	}
	if code := v.logIn("ann", "wrong"); code != 401 || v.cookie != nil {
		t.Errorf("wrong password: got %d, cookie %v", code, v.cookie)
	}
	if code := v.logIn("ann", "secret"); code != 303 {
		t.Fatalf("right password: got %d", code)
	}
	if c := v.cookie; c.Name != "grove-browse-db1" || len(c.Value) != 43 || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
		t.Errorf("cookie %+v", c)
	}
	if code, page := v.text("GET", "/", nil); code != 200 || !strings.Contains(page, `<a href="/collections?db=a%26b">a&amp;b</a>`) || !strings.Contains(page, "8 KiB") {
		t.Errorf("got %d: %s", code, page)
	}
	if shop.dials != 2 || shop.open != 1 {
		t.Errorf("%d log-ins tried, %d open", shop.dials, shop.open)
	}
	v.cookie.Value = token()
	if code, _ := v.text("GET", "/", nil); code != 401 {
		t.Errorf("another cookie: got %d", code)
	}
}

func TestFormsAreTheSitesOwn(t *testing.T) {
	v, shop := newVisit(t)
	right := url.Values{"user": {"ann"}, "password": {"secret"}, "token": {token()}}
	if r := v.ask("POST", "/in", right); r.StatusCode != 403 || shop.dials != 0 {
		t.Errorf("a foreign form: got %d after %d log-ins", r.StatusCode, shop.dials)
	}
	v.logIn("ann", "secret")
	if r := v.ask("POST", "/out", url.Values{"token": {v.site.entry}}); r.StatusCode != 403 || shop.open != 1 {
		t.Errorf("a foreign log-out: got %d, %d open", r.StatusCode, shop.open)
	}
	_, page := v.text("GET", "/", nil)
	if r := v.ask("POST", "/out", url.Values{"token": {tokenForm.FindStringSubmatch(page)[1]}}); r.StatusCode != 303 || shop.open != 0 {
		t.Errorf("log-out: got %d, %d open", r.StatusCode, shop.open)
	}
	if r := v.ask("GET", "/in", nil); r.StatusCode != 405 {
		t.Errorf("a password in a link: got %d", r.StatusCode)
	}
	if code := v.logIn("", "secret"); code != 422 || shop.dials != 1 {
		t.Errorf("without a user, as whom all would be allowed: got %d after %d log-ins", code, shop.dials)
	}
}

func TestPasswordsCannotBeGuessedQuickly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, shop := newVisit(t)
		for n := range 5 {
			if code := v.logIn("ann", fmt.Sprint(n)); code != 401 {
				t.Errorf("attempt %d: got %d", n, code)
			}
		}
		if code := v.logIn("ann", "secret"); code != 429 || shop.dials != 5 {
			t.Errorf("the sixth: got %d after %d log-ins", code, shop.dials)
		}
		time.Sleep(time.Minute)
		for range 8 {
			if code := v.logIn("ann", "secret"); code != 303 {
				t.Errorf("a minute later: got %d", code)
			}
			v.cookie = nil
		}
		v.site.Close()
	})
}

func TestSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, shop := newVisit(t)
		v.logIn("ann", "secret")
		for range 3 {
			time.Sleep(idle - time.Minute)
			if code, _ := v.text("GET", "/", nil); code != 200 {
				t.Errorf("used within %s: got %d", idle, code)
			}
		}
		time.Sleep(idle + time.Second)
		synctest.Wait()
		if code, _ := v.text("GET", "/", nil); code != 401 || shop.open != 0 {
			t.Errorf("after %s: got %d, %d open", idle, code, shop.open)
		}
		var first *http.Cookie
		for range mostPersons + 1 {
			v.cookie = nil
			if code := v.logIn("ann", "secret"); code != 303 {
				t.Fatalf("got %d", code)
			}
			if first == nil {
				first = v.cookie
			}
			time.Sleep(time.Second)
		}
		if shop.open != mostPersons {
			t.Errorf("%d open; want %d", shop.open, mostPersons)
		}
		if code, _ := v.text("GET", "/", nil); code != 200 {
			t.Errorf("the last one: got %d", code)
		}
		v.cookie = first
		if code, _ := v.text("GET", "/", nil); code != 401 {
			t.Errorf("the first one, idle longest: got %d", code)
		}
		v.site.Close()
		if shop.open != 0 {
			t.Errorf("%d open at the end", shop.open)
		}
	})
}

func TestItIsForTheLoopbackAddressOnly(t *testing.T) {
	for _, c := range []struct {
		name, local, host string
		refused           bool
	}{
		{"localhost, by another port", "127.0.0.1", "localhost:9000", false},
		{"an address", "127.0.0.1", "127.0.0.1:8081", false},
		{"IPv6", "::1", "[::1]:8081", false},
		{"without a port", "127.0.0.1", "LOCALHOST", false},
		{"by the network", "10.5.0.11", "localhost:8081", true},
		{"a foreign name that points here", "127.0.0.1", "evil.example.org:8081", true},
		{"one that begins alike", "127.0.0.1", "localhost.example.org", true},
		{"another address", "127.0.0.1", "10.5.0.11", true},
		{"none", "127.0.0.1", "", true},
	} {
		if got := foreign(&net.TCPAddr{IP: net.ParseIP(c.local), Port: 8081}, c.host); (got != "") != c.refused {
			t.Errorf("%s: got %q", c.name, got)
		}
	}
	v, _ := newVisit(t)
	v.local = net.IPv4(10, 5, 0, 11)
	if code, page := v.text("GET", "/", nil); code != 403 || strings.Contains(page, "password") {
		t.Errorf("by the network: got %d, %s", code, page)
	}
	if got := foreign(nil, "localhost"); got == "" {
		t.Error("without knowing by which address: let in")
	}
}

func TestCollections(t *testing.T) {
	v, _ := newVisit(t)
	v.logIn("ann", "secret")
	code, page := v.text("GET", "/collections?db=a", nil)
	for _, want := range []string{"60 in all", `<a href="/documents?db=a&amp;c=c00">c00</a></td><td class="n">12</td><td class="n">1 KiB</td><td class="n">4 KiB</td><td class="n">1</td><td class="n">2 KiB</td>`,
		`c01</a></td><td colspan="5">a view</td>`, `c02</a></td><td colspan="5">mongod refuses: not authorized on a</td>`, `<a href="/collections?db=a&amp;from=50">Later</a>`, "c49"} {
		if code != 200 || !strings.Contains(page, want) {
			t.Errorf("got %d without %s: %s", code, want, page)
		}
	}
	if strings.Contains(page, "c50") || strings.Contains(page, "Earlier") {
		t.Error("more than a page")
	}
	if _, page = v.text("GET", "/collections?db=a&from=50", nil); !strings.Contains(page, "c50") || strings.Contains(page, "c49") || !strings.Contains(page, `from=0">Earlier`) || strings.Contains(page, "Later") {
		t.Errorf("the second page: %s", page)
	}
}

func TestDocuments(t *testing.T) {
	v, shop := newVisit(t)
	v.logIn("ann", "secret")
	code, page := v.text("GET", "/documents?"+url.Values{"db": {"a"}, "c": {"b"}, "filter": {`{"x": "<b>"}`}, "sort": {`{"y": -1}`}, "from": {"40"}}.Encode(), nil)
	for _, want := range []string{"&lt;script&gt;alert(1)&lt;/script&gt;", "{&#34;x&#34;: &#34;&lt;b&gt;&#34;}", `<ol start="41">`, `from=20&amp;`, `from=41&amp;`, "_id_", "12 documents, 1 KiB"} {
		if code != 200 || !strings.Contains(page, want) {
			t.Errorf("got %d without %s: %s", code, want, page)
		}
	}
	if strings.Contains(page, "<script") {
		t.Error("a script")
	}
	if got := fmt.Sprint(shop.asked); got != `{a b [{x <b>}] [{y -1}] [] 40}` {
		t.Errorf("asked for %s", got)
	}
	shop.asked = query{}
	if code, page := v.text("GET", "/documents?db=a&c=b&filter="+url.QueryEscape(`{"$where": "1"}`), nil); code != 422 || !strings.Contains(page, "$where is refused") || shop.asked.database != "" {
		t.Errorf("$where: got %d, %s", code, page)
	}
	shop.denied = mongo.CommandError{Code: 50, Message: "operation exceeded time limit"}
	if code, page := v.text("GET", "/", nil); code != 502 || !strings.Contains(page, "this takes longer than 5s") {
		t.Errorf("too slow: got %d, %s", code, page)
	}
}

func TestHeadersKeepScriptsAndCachesOut(t *testing.T) {
	v, _ := newVisit(t)
	for _, target := range []string{"/", "/style.css", "/none"} {
		h := v.ask("GET", target, nil).Header
		if csp := h.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; style-src 'self';") || strings.Contains(csp, "unsafe") || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", target, h)
		}
	}
	if r := v.ask("GET", "/style.css", nil); r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/css") {
		t.Errorf("style: %d %s", r.StatusCode, r.Header.Get("Content-Type"))
	}
}
