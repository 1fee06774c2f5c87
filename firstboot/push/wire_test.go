package push

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// schema is prometheus/prompb's remote.proto and types.proto, of what a sender of version 1 uses.
const schema = `
name: "remote.proto" package: "prometheus" syntax: "proto3"
message_type { name: "WriteRequest" field { name: "timeseries" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".prometheus.TimeSeries" } }
message_type { name: "TimeSeries"
  field { name: "labels" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".prometheus.Label" }
  field { name: "samples" number: 2 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".prometheus.Sample" } }
message_type { name: "Label" field { name: "name" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING } field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_STRING } }
message_type { name: "Sample" field { name: "value" number: 1 label: LABEL_OPTIONAL type: TYPE_DOUBLE } field { name: "timestamp" number: 2 label: LABEL_OPTIONAL type: TYPE_INT64 } }
`

// decode reads a request by Google's protobuf and another snappy than the one that wrote it.
func decode(t *testing.T, body []byte) string {
	t.Helper()
	var d descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal([]byte(schema), &d); err != nil {
		t.Fatal(err)
	}
	file, err := protodesc.NewFile(&d, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := snappy.Decode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	m := dynamicpb.NewMessage(file.Messages().ByName("WriteRequest"))
	if err := (proto.UnmarshalOptions{DiscardUnknown: false}).Unmarshal(plain, m); err != nil || len(m.GetUnknown()) > 0 {
		t.Fatalf("%v, unknown %x", err, m.GetUnknown())
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), ", ", ",")
}

func TestRequestIsReadByProtobuf(t *testing.T) {
	r := prometheus.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "reads_total", ConstLabels: prometheus.Labels{"device": "vda", "Zone": "é", "empty": ""}})
	c.Add(12.5)
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "up", ConstLabels: prometheus.Labels{"job": "its own"}})
	g.Set(-1)
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "no_histograms"})
	r.MustRegister(c, g, h)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	body, samples := encode(families, map[string]string{"job": "grove", "instance": "db1"}, time.UnixMilli(1777636800123))
	want := `{"timeseries":[{"labels":[{"name":"Zone","value":"é"},{"name":"__name__","value":"reads_total"},{"name":"device","value":"vda"},{"name":"instance","value":"db1"},{"name":"job","value":"grove"}],"samples":[{"value":12.5,"timestamp":"1777636800123"}]},` +
		`{"labels":[{"name":"__name__","value":"up"},{"name":"instance","value":"db1"},{"name":"job","value":"its own"}],"samples":[{"value":-1,"timestamp":"1777636800123"}]}]}`
	if diff := cmp.Diff(want, decode(t, body)); diff != "" || samples != 2 {
		t.Errorf("%d samples; want - got +\n%s", samples, diff)
	}
}

// shop is a receiver on the loopback address that keeps what it is sent.
type shop struct {
	mu     sync.Mutex
	bodies [][]byte
	header http.Header
}

func (s *shop) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(q.Body)
	s.bodies, s.header = append(s.bodies, body), q.Header
	w.WriteHeader(http.StatusNoContent)
}

func once(t *testing.T, address, proxy string, roots *x509.CertPool) answer {
	t.Helper()
	p, err := New(Config{URL: address, Proxy: proxy, Gather: figures(0), Labels: func() map[string]string { return nil }, Now: time.Now, Tell: func(Event) {}})
	if err != nil {
		t.Fatal(err)
	}
	if transport := p.client.Transport.(*http.Transport); roots != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	defer p.client.CloseIdleConnections()
	p.take(1)
	b, _ := p.first(t.Context())
	return p.post(t.Context(), b)
}

func TestHeadersOfTheSpecification(t *testing.T) {
	var s shop
	server := httptest.NewServer(&s)
	defer server.Close()
	if a := once(t, server.URL, "", nil); a.verdict() != Taken {
		t.Fatal(a.why())
	}
	for name, want := range map[string]string{"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf", "X-Prometheus-Remote-Write-Version": "0.1.0", "User-Agent": "grove"} {
		if got := s.header.Get(name); got != want {
			t.Errorf("%s: got %q; want %q", name, got, want)
		}
	}
	if got := decode(t, s.bodies[0]); !strings.Contains(got, `"a_total"`) {
		t.Errorf("got %s", got)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	server := httptest.NewServer(http.RedirectHandler("http://192.0.2.1/", http.StatusTemporaryRedirect))
	defer server.Close()
	if a := once(t, server.URL, "", nil); a.verdict() != Refused || !strings.HasPrefix(a.why(), "307") {
		t.Errorf("got %s", a.why())
	}
}

func TestCertificateOfNobodyIsRefused(t *testing.T) {
	server := httptest.NewUnstartedServer(&shop{})
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it says that the client hung up
	server.StartTLS()
	defer server.Close()
	if a := once(t, server.URL, "", nil); a.verdict() != Failing || !strings.Contains(a.why(), "certificate") {
		t.Errorf("got %s", a.why())
	}
	if n := len(authorities().Subjects()); n < 100 { //nolint:staticcheck // it counts the bundle's, which is no system pool
		t.Errorf("%d authorities; want Mozilla's", n)
	}
}

// proxy is one of HTTP: it fetches for who asks with the whole address, and connects for who wants a tunnel.
type proxy struct {
	mu    sync.Mutex
	asked []string
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, q.Method+" "+q.RequestURI)
	p.mu.Unlock()
	if q.Method != http.MethodConnect {
		q.RequestURI = ""
		r, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer r.Body.Close()
		w.WriteHeader(r.StatusCode)
		_, _ = io.Copy(w, r.Body)
		return
	}
	out, err := net.Dial("tcp", q.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer out.Close()
	w.WriteHeader(http.StatusOK)
	in, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer in.Close()
	go func() { _, _ = io.Copy(out, in); out.Close() }()
	_, _ = io.Copy(in, out)
}

func TestThroughAProxy(t *testing.T) {
	plain, secure := httptest.NewServer(&shop{}), httptest.NewTLSServer(&shop{})
	defer plain.Close()
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	for _, c := range []struct {
		name, address, want string
		roots               *x509.CertPool
	}{
		{"http by the whole address", plain.URL + "/write", "POST " + plain.URL + "/write", nil},
		{"https through a tunnel", secure.URL + "/write", "CONNECT " + strings.TrimPrefix(secure.URL, "https://"), roots},
	} {
		var p proxy
		server := httptest.NewServer(&p)
		a := once(t, c.address, server.URL, c.roots)
		p.mu.Lock()
		if a.verdict() != Taken || len(p.asked) != 1 || p.asked[0] != c.want {
			t.Errorf("%s: %s; the proxy was asked %q; want %q", c.name, a.why(), p.asked, c.want)
		}
		p.mu.Unlock()
		server.CloseClientConnections()
		server.Close()
	}
	a := once(t, plain.URL, "http://127.0.0.1:1", nil)
	if a.verdict() != Failing || !strings.Contains(a.why(), "proxyconnect") {
		t.Errorf("a proxy that is not there: got %q", a.why())
	}
}
