package push

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A real Prometheus that takes remote writes: GROVE_TEST_PROMETHEUS is the program, which `make accept ONLY=a3.7.push` sets.

func startPrometheus(t *testing.T) (address string) {
	t.Helper()
	program := os.Getenv("GROVE_TEST_PROMETHEUS")
	if program == "" {
		t.Skip("GROVE_TEST_PROMETHEUS is not set: not tried is that a real Prometheus takes what is sent; make accept ONLY=a3.7.push does")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = free.Addr().String()
	free.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--web.enable-remote-write-receiver")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if r, err := http.Get("http://" + address + "/-/ready"); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return address
			}
		}
		if time.Now().After(end) {
			t.Fatal("Prometheus is not ready within a minute")
		}
	}
}

// query gives the series of a query, each as its labels and its value.
func query(t *testing.T, address, text string) (all []string) {
	t.Helper()
	r, err := http.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(text))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var told struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&told); err != nil {
		t.Fatal(err)
	}
	for _, one := range told.Data.Result {
		all = append(all, fmt.Sprint(one.Metric, one.Value[1]))
	}
	return all
}

func TestPrometheusTakesIt(t *testing.T) {
	address := startPrometheus(t)
	r := prometheus.NewRegistry()
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "node_load1", ConstLabels: prometheus.Labels{"Zone": "é"}})
	g.Set(0.25)
	r.MustRegister(g)
	p, err := New(Config{URL: "http://" + address + "/api/v1/write", Gather: r, Labels: func() map[string]string { return map[string]string{"job": "grove", "instance": "db1"} }, Now: time.Now,
		Tell: func(e Event) { t.Log(e) }})
	if err != nil {
		t.Fatal(err)
	}
	defer p.client.CloseIdleConnections()
	p.take(1)
	b, _ := p.first(t.Context())
	if a := p.post(t.Context(), b); a.verdict() != Taken {
		t.Fatal(a.why())
	}
	is(t, "Prometheus has", query(t, address, `{job="grove"}`), "map[Zone:é __name__:node_load1 instance:db1 job:grove]0.25")
	p.config.Now = func() time.Time { return time.Unix(0, 0) } // a sample of 1970 comes too late, for ever
	p.done(b, true)
	p.take(2)
	b, _ = p.first(t.Context())
	if a := p.post(t.Context(), b); a.verdict() != Refused {
		t.Errorf("a sample of 1970: got %q", a.why())
	}
}
