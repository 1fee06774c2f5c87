package push

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// send sends batch after batch until ctx ends.
func (p *Pusher) send(ctx context.Context) {
	for failures := 0; ; {
		b, is := p.first(ctx)
		if !is {
			return
		}
		a := p.post(ctx, b)
		if ctx.Err() != nil {
			return
		}
		switch a.verdict() {
		case Taken:
			failures = 0
			p.done(b, true)
			p.tell(Event{Kind: Taken})
			continue
		case Refused:
			failures = 0
			p.done(b, false)
			p.tell(Event{Refused, a.why()})
			continue
		}
		failures++
		p.tell(Event{Failing, a.why()})
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause(failures, a.retryAfter, rand.Float64())):
		}
	}
}

// answer is what became of a request: an error, or what the receiver said.
type answer struct {
	err        error
	code       int
	text       string // the first line of it
	retryAfter time.Duration
}

// verdict: too many and its own faults are a receiver's that may have better days, all else that is no success it would say again (the specification, "retries & backoff").
func (a answer) verdict() Kind {
	switch {
	case a.err != nil, a.code == http.StatusTooManyRequests, a.code >= 500:
		return Failing
	case a.code >= 200 && a.code < 300:
		return Taken
	}
	return Refused
}

func (a answer) why() string {
	if a.err != nil {
		return a.err.Error()
	}
	said := strings.TrimSpace(strconv.Itoa(a.code) + " " + http.StatusText(a.code))
	if a.text != "" {
		said += ": " + a.text
	}
	return said
}

// The pauses: of the first failure and the longest, and the longest that a receiver may ask for.
const (
	shortest = time.Second
	longest  = 5 * time.Minute
	patience = 15 * time.Minute
)

// pause doubles with each failure, and is up to a half shorter by chance, so that nodes which failed together do not come back together. A receiver may ask for more.
func pause(failures int, asked time.Duration, chance float64) time.Duration {
	d := longest
	if doublings := failures - 1; doublings < 9 {
		d = min(longest, shortest<<doublings)
	}
	d -= time.Duration(chance * float64(d) / 2)
	return max(d, min(asked, patience))
}

const mayTake = 30 * time.Second

func (p *Pusher) post(ctx context.Context, b batch) (a answer) {
	ctx, cancel := context.WithTimeout(ctx, mayTake)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, p.config.URL, bytes.NewReader(b.body))
	if err != nil {
		return answer{err: err}
	}
	for name, value := range map[string]string{"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf", "X-Prometheus-Remote-Write-Version": "0.1.0", "User-Agent": "grove"} {
		q.Header.Set(name, value)
	}
	r, err := p.client.Do(q)
	if err != nil {
		return answer{err: plain(err)}
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(r.Body, 4<<10)) // a connection is used again when its answer was read; what of it fails is not missed
	return answer{code: r.StatusCode, text: firstLine(string(text)), retryAfter: retryAfter(r.Header.Get("Retry-After"), p.config.Now())}
}

// plain leaves out the address, of which the query may be a secret, and the node's own port, which would make each failure another one.
func plain(err error) error {
	if e := new(url.Error); errors.As(err, &e) {
		err = e.Err
	}
	if e := new(net.OpError); errors.As(err, &e) && e.Op != "dial" && e.Op != "proxyconnect" {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	return err
}

// firstLine is what may stand on a console of another machine's words.
func firstLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	return text[:min(len(text), 200)]
}

// retryAfter reads the header (RFC 9110, 10.2.3): seconds, or a date.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), int64(patience/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// newClient has one connection. HTTP/2 would have buffers of its own for nothing: there is one request at a time. It does not follow redirects: where figures go is said in the
// settings and nowhere else.
func newClient(address, proxy string) (*http.Client, error) {
	t := &http.Transport{DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second, MaxConnsPerHost: 1, IdleConnTimeout: 2 * every,
		MaxResponseHeaderBytes: 16 << 10, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}
	if proxy != "" {
		u, err := url.Parse(proxy)
		if err != nil {
			return nil, fmt.Errorf("proxy of the metrics: %w", err)
		}
		t.Proxy = http.ProxyURL(u)
	}
	if strings.HasPrefix(address, "https:") || strings.HasPrefix(proxy, "https:") {
		t.TLSClientConfig = &tls.Config{RootCAs: authorities()}
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// authorities are the system's, of which an image has none, and Mozilla's.
func authorities() *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			continue // its own test reads each of them
		}
		if root.Constraint == nil {
			pool.AddCert(cert)
		} else {
			pool.AddCertWithConstraint(cert, root.Constraint)
		}
	}
	return pool
}
