package sight

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"

	"grove/firstboot/status"
	"grove/internal/spec"
)

func TestMetricsAreSentWhereTheSettingsSay(t *testing.T) {
	bodies := make(chan string, 1)
	refuse := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		plain, err := snappy.Decode(nil, body)
		if err != nil {
			t.Error(err)
		}
		if refuse {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		refuse = false
		select {
		case bodies <- string(plain):
		default:
		}
	}))
	defer server.Close()
	n := newNode(t)
	n.file("proc/loadavg", "0.50 0.1 0.1 1/90 300\n")
	n.Voice.Page(func(s *status.Status) { s.Node = "db1" })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); n.Push(ctx, spec.Metrics{Push: server.URL + "/write?token=secret"}) }()
	wait := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: not within 20 s; the problems are %q", what, n.status().Problems)
			}
		}
	}
	said := ""
	wait("sent again after a failure", func() bool { said = n.said(); return strings.Contains(said, " takes them, each minute") })
	host := strings.TrimPrefix(server.URL, "http://")
	if want := "metrics: to " + host + ": 503 Service Unavailable; they wait, and it is tried again\n"; !strings.Contains(said, want) || strings.Contains(said, "secret") {
		t.Errorf("want %q in\n%s", want, said)
	}
	if got := n.status().Problems; len(got) > 0 {
		t.Errorf("the problems are %q", got)
	}
	body := <-bodies
	for _, want := range []string{"node_load1", "grove_push_samples_total", "instance", "db1", "job", "grove"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not sent", want)
		}
	}
	if got := n.pushed(); got["sent"] < 10 || got["dropped"] != 0 {
		t.Errorf("got %v", got)
	}
	cancel()
	<-ended
}
