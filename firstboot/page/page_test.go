package page

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"grove/firstboot/status"
)

func recorded(t *testing.T) status.Status {
	t.Helper()
	s := status.Read("testdata/status.json")
	if s.Node == "" {
		t.Fatal("testdata/status.json is none")
	}
	return s
}

func logOf(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("testdata/mongod.log")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// site has the handler of a node with this status.
func handler(t *testing.T, s status.Status, log string) http.Handler {
	t.Helper()
	h, err := Handler(Config{
		Status: func() status.Status { return s }, Log: func() string { return log }, Now: func() time.Time { return time.Unix(1796102046, 0) },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "node_load1 0.5") }),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func ask(h http.Handler, method, path string) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestPageShowsTheWholeNode(t *testing.T) {
	text := body(t, ask(handler(t, recorded(t), logOf(t)), "GET", "/"))
	for _, want := range []string{
		`<h1>db1 <span class="badge good">serving</span></h1>`, "Up for 2 h 3 min; looked at on 2026-12-01 05:14:06 UTC",
		"array md127: is degraded", "md127", "3 of 4", "faulty: /dev/xvdc", "recover 41.5 %", "vm.swappiness", "MongoDB&#39;s manual", "rewrites", "/dev/xvdf is not touched",
		"ext4, label backup", "firstboot storage rebuild /dev/xvdf", "10.5.0.11/24", "169.254.169.123, stratum 3", "&#43;0.8 ms", "SHA256:", "ann@desk",
		"22:00:11.250 ", "Slow query", "&lt;script&gt;alert(1)&lt;/script&gt;",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if secret := "confidential"; strings.Contains(text, secret) || !strings.Contains(logOf(t), secret) {
		t.Errorf("want %q, which a client asked for, in the log and not on the page", secret)
	}
	if problems, disks := strings.Index(text, `id="problems"`), strings.Index(text, `id="mongod"`); problems < 0 || problems > disks {
		t.Error("the problems do not stand first")
	}
}

func TestPageShowsTheSet(t *testing.T) {
	s := recorded(t)
	if text := body(t, ask(handler(t, s, ""), "GET", "/")); strings.Contains(text, `id="set"`) {
		t.Error("a node without a set shows one")
	}
	s.Set = status.Set{Name: "rs0", Self: "db2:27017", State: "waiting", Since: s.Updated - 90, Text: "db3 does not answer", Role: "secondary", Primary: "db1:27017",
		Members: []status.SetMember{{Host: "db1:27017", State: "primary", Votes: 1, Priority: 1, Lag: -1}, {Host: "db3:27017", State: "unreachable", Lag: 12}},
		Drift:   []string{"db4 is in the set and not in the recipe"}, Checked: []status.Preflight{{What: "the clock is right"}, {What: "db3 has an address", Fault: "no such host"}}}
	text := body(t, ask(handler(t, s, ""), "GET", "/"))
	for _, want := range []string{`<a href="#set">`, "Replica set rs0", `<span class="badge good">secondary</span> waiting for 1 min 30 s: db3 does not answer`, "<dd>db1:27017</dd>",
		`<span class="badge bad">unreachable</span>`, "12 s", "db4 is in the set and not in the recipe", "db3 has an address: <strong>no such host</strong>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// What a browser would run or load, and what would reach beyond the node.
var active = regexp.MustCompile(`(?i)<script|<link|<img|<iframe|<form|javascript:|\son[a-z]+=|(src|href)="?(https?:|//|data:)|@import|url\(`)

func TestPageIsQuietAndSmall(t *testing.T) {
	for name, s := range map[string]status.Status{"a node as it is": recorded(t), "a node of nothing": {}, "a node with everything at its longest": longest(recorded(t))} {
		text := body(t, ask(handler(t, s, strings.Repeat(strings.Repeat(`"`, 4*longLine)+"\n", 100)), "GET", "/"))
		if found := active.FindString(text); found != "" {
			t.Errorf("%s: the page has %q", name, found)
		}
		if len(text) >= 100_000 {
			t.Errorf("%s: %d bytes; want less than 100 KB", name, len(text))
		}
		t.Logf("%s: %d bytes", name, len(text))
		for _, tag := range []string{"section", "table", "tr", "td", "th", "dl", "ul", "ol", "details", "div", "main"} {
			if opened, closed := len(regexp.MustCompile(`<`+tag+`[ >]`).FindAllString(text, -1)), strings.Count(text, "</"+tag+">"); opened != closed {
				t.Errorf("%s: %d <%s> are opened, %d closed", name, opened, tag, closed)
			}
		}
	}
}

// longest makes the lists longer than any node's.
func longest(s status.Status) status.Status {
	sentence := strings.Repeat("a sentence of <some> length & \"more\" ", 30)
	s.Storage.Refused[0].Evidence, s.Storage.Refused[0].Command = []string{sentence, sentence, sentence, sentence, sentence}, sentence
	right := s.Tuning.Values[0]
	right.State = "same"
	for range 300 {
		for _, list := range []*[]string{&s.Problems, &s.Storage.Plan, &s.Storage.Done, &s.Storage.Notes} {
			*list = append(*list, sentence)
		}
		s.Tuning.Values = append(s.Tuning.Values, s.Tuning.Values[0], right)
		s.Tuning.Warnings = append(s.Tuning.Warnings, s.Tuning.Warnings[0])
		s.Storage.Refused = append(s.Storage.Refused, s.Storage.Refused[0])
		s.Storage.Arrays = append(s.Storage.Arrays, s.Storage.Arrays[0])
		s.Network.Links = append(s.Network.Links, s.Network.Links[0])
	}
	return s
}

func TestEveryAnswerIsProtected(t *testing.T) {
	h := handler(t, recorded(t), "")
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(body(t, ask(h, "GET", "/")))
	if style == nil {
		t.Fatal("the page has no style")
	}
	sum := sha256.Sum256([]byte(style[1]))
	policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	for _, path := range []string{"/", "/healthz", "/status.json", "/metrics", "/nothing"} {
		got := ask(h, "GET", path).Header
		for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
			if got.Get(name) != want {
				t.Errorf("%s: %s is %q; want %q", path, name, got.Get(name), want)
			}
		}
	}
}

func TestAnswers(t *testing.T) {
	well, ill := recorded(t), recorded(t)
	ill.Phase, ill.Problems = "waiting", []string{"mongod: ended: exit code 14"}
	for _, c := range []struct {
		name, method, path string
		status             status.Status
		code               int
		kind, text         string // the whole answer; "" is any
	}{
		{"a node that serves is healthy, whatever else", "GET", "/healthz", well, 200, "text/plain; charset=utf-8", "ok\n"},
		{"one that does not says why", "GET", "/healthz", ill, 503, "text/plain; charset=utf-8", "waiting\nmongod: ended: exit code 14\n"},
		{"metrics", "GET", "/metrics", well, 200, "", "node_load1 0.5\n"},
		{"a head is no body", "HEAD", "/", well, 200, "text/html; charset=utf-8", ""},
		{"nothing else is here", "GET", "/style.css", well, 404, "text/plain; charset=utf-8", "404 page not found\n"},
		{"nothing is taken", "POST", "/", well, 405, "text/plain; charset=utf-8", "Method Not Allowed\n"},
		{"nothing is removed", "DELETE", "/status.json", well, 405, "text/plain; charset=utf-8", "Method Not Allowed\n"},
	} {
		got := ask(handler(t, c.status, ""), c.method, c.path)
		text := body(t, got)
		if got.StatusCode != c.code || c.kind != "" && got.Header.Get("Content-Type") != c.kind || c.text != "" && text != c.text {
			t.Errorf("%s: got %s, %q: %q", c.name, got.Status, got.Header.Get("Content-Type"), text)
		}
	}
}

func TestStatusIsAsItIsWritten(t *testing.T) {
	file := t.TempDir() + "/status.json"
	if err := status.Write(file, status.Status{Node: "db1"}); err != nil {
		t.Fatal(err)
	}
	want, _ := os.ReadFile(file)
	got := ask(handler(t, status.Status{Node: "db1"}, ""), "GET", "/status.json")
	text := body(t, got)
	if diff := cmp.Diff(string(want), text); diff != "" || !json.Valid([]byte(text)) || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: want - got +\n%s", got.Header.Get("Content-Type"), diff)
	}
}

func TestServerEndsWithItsContextAndHoldsOffTheMany(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s := recorded(t)
	go func() {
		ended <- Serve(ctx, l, Config{Status: func() status.Status { return s }, Log: func() string { return "" }, Now: time.Now})
	}()
	var open []net.Conn
	for range most { // they say nothing
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	late := http.Client{Timeout: 300 * time.Millisecond}
	if _, err := late.Get("http://" + l.Addr().String() + "/healthz"); err == nil {
		t.Errorf("one more than %d is answered", most)
	}
	for _, c := range open {
		c.Close()
	}
	client := http.Client{Timeout: 10 * time.Second}
	r, err := client.Get("http://" + l.Addr().String() + "/healthz")
	if err != nil || body(t, r) != "ok\n" {
		t.Errorf("got %v, %v", r, err)
	}
	began := time.Now()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(began) > bye+time.Second {
		t.Errorf("ended after %s with %v", time.Since(began), err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the port is still open")
	}
}

func TestServerTellsThatItsPortIsLost(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := Serve(context.Background(), l, Config{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
