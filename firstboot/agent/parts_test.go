package agent

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestMetricsAreSentWhereNodeYAMLSays(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		select {
		case asked <- q.URL.Path:
		default:
		}
	}))
	defer server.Close()
	n := newNode(t)
	n.personal("hostname: db1\nmetrics: {push: '" + server.URL + "/write?token=secret'}\n")
	n.file("proc/loadavg", "0.50 0.1 0.1 1/90 300\n")
	n.begin()
	select {
	case path := <-asked:
		if path != "/write" {
			t.Errorf("got %s", path)
		}
	case <-time.After(20 * time.Second):
		t.Errorf("nothing is sent; the problems are %q", n.status().Problems)
	}
	n.leave()
	if said := n.said(); strings.Contains(said, "secret") {
		t.Errorf("the console has a secret:\n%s", said)
	}
}

func TestSamplesAreTakenOnANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, s := withPage(t), newStreet()
		n.file("proc/loadavg", "0.50 0.1 0.1 1/90 300\n")
		n.gate.port = func(int) (net.Listener, error) { return s, nil }
		n.begin()
		pass(2*time.Minute + 10*time.Second)
		if code, text := s.get(t, "/samples.json"); code != 200 || strings.Count(text, `"load"`) != 2 {
			t.Errorf("want 2 samples; got %d, %s", code, text)
		}
		n.leave()
	})
}
