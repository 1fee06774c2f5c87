package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// receiver is a remote write endpoint without a network, in the test's time.
type receiver struct {
	mu      sync.Mutex
	answers []func() (*http.Response, error) // in turn; the last stays
	began   time.Time
	asked   []string // when, since the begin
	told    []string
}

func says(code int, text string, header ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		r := &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(text)), Header: http.Header{}}
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return r, nil
	}
}

func (r *receiver) RoundTrip(q *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = io.Copy(io.Discard, q.Body)
	r.asked = append(r.asked, time.Since(r.began).Truncate(time.Second).String())
	answer := r.answers[0]
	if len(r.answers) > 1 {
		r.answers = r.answers[1:]
	}
	return answer()
}

func (r *receiver) then(answers ...func() (*http.Response, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = answers
}

// take gives what it was asked and what was told since the last call.
func (r *receiver) take() (asked, told []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked, told, r.asked, r.told = r.asked, r.told, nil, nil
	return asked, told
}

// figures are one counter, and as many gauges with a label that hardly compresses.
func figures(gauges int) *prometheus.Registry {
	r := prometheus.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "a_total"})
	r.MustRegister(c)
	for n := range gauges {
		r.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "b", ConstLabels: prometheus.Labels{"x": fmt.Sprintf("%x", uint64(n+1)*0x9e3779b97f4a7c15)}}))
	}
	return r
}

// pushing runs a pusher to r in a bubble of time, and calls then.
func pushing(t *testing.T, r *receiver, change func(*Config), then func(*Pusher)) {
	synctest.Test(t, func(t *testing.T) {
		c := Config{URL: "http://metrics.example.org/api/v1/write?token=secret", Gather: figures(0), Labels: func() map[string]string { return nil }, Ready: func() bool { return true }, Now: time.Now,
			Tell: func(e Event) {
				r.mu.Lock()
				r.told = append(r.told, strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.Why)))
				r.mu.Unlock()
			}}
		if change != nil {
			change(&c)
		}
		p, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		r.began = time.Now()
		p.client.Transport = r
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { p.Run(ctx); close(ended) }()
		then(p)
		stop()
		<-ended
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func is(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s: got %q; want %q", what, got, want)
	}
}

func (p *Pusher) counts() string {
	c := p.Counts()
	return fmt.Sprintf("%v sent, %v dropped", c["sent"], c["dropped"])
}

// waiting is the number of the first batch in the queue, how many there are, and their bytes.
func (p *Pusher) waiting() (first, batches, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) > 0 {
		first = p.queue[0].number
	}
	return first, len(p.queue), p.bytes
}

func TestFiguresGoOutOnceAMinute(t *testing.T) {
	r := &receiver{answers: []func() (*http.Response, error){says(204, "")}}
	pushing(t, r, nil, func(p *Pusher) {
		pass(2*time.Minute + time.Second)
		asked, told := r.take()
		is(t, "asked", asked, "0s", "1m0s", "2m0s")
		is(t, "told", told, "0")
		if got := p.counts(); got != "3 sent, 0 dropped" {
			t.Errorf("got %s", got)
		}
	})
}

func TestNothingIsTakenBeforeTheNodeIsReady(t *testing.T) {
	r := &receiver{answers: []func() (*http.Response, error){says(204, "")}}
	var begin time.Time
	late := func(c *Config) {
		c.Ready = func() bool {
			if begin.IsZero() {
				begin = time.Now()
			}
			return time.Since(begin) >= 3*time.Minute
		}
	}
	pushing(t, r, late, func(*Pusher) {
		pass(5*time.Minute + time.Second)
		asked, _ := r.take()
		is(t, "asked", asked, "3m0s", "4m0s", "5m0s")
	})
}

func TestReceiverThatIsAwayIsTriedAgain(t *testing.T) {
	away := func() (*http.Response, error) { return nil, errors.New("dial tcp 192.0.2.1:443: connection refused") }
	r := &receiver{answers: []func() (*http.Response, error){away}}
	pushing(t, r, nil, func(p *Pusher) {
		pass(10*time.Minute + time.Second)
		asked, told := r.take()
		is(t, "told", told, "1 dial tcp 192.0.2.1:443: connection refused")
		if n := len(asked); n < 6 || n > 11 { // pauses of 1, 2, 4, ... s, or half of it
			t.Errorf("asked %d times in ten minutes: %q", n, asked)
		}
		r.then(says(500, "out of\nspace"), says(200, ""))
		pass(10*time.Minute + time.Second)
		_, told = r.take()
		is(t, "told", told, "1 500 Internal Server Error: out of", "0")
		if got := p.counts(); got != "21 sent, 0 dropped" {
			t.Errorf("of the 21 minutes: %s", got)
		}
	})
}

func TestBusyReceiverSaysWhenToComeAgain(t *testing.T) {
	r := &receiver{answers: []func() (*http.Response, error){says(429, "", "Retry-After", "45"), says(200, "")}}
	pushing(t, r, nil, func(*Pusher) {
		pass(46 * time.Second)
		asked, told := r.take()
		is(t, "asked", asked, "0s", "45s")
		is(t, "told", told, "1 429 Too Many Requests", "0")
	})
}

func TestWhatIsRefusedIsDroppedAndSaidOnce(t *testing.T) {
	r := &receiver{answers: []func() (*http.Response, error){says(401, "no such tenant\x1b[31m")}}
	pushing(t, r, nil, func(p *Pusher) {
		pass(5*time.Minute + time.Second)
		asked, told := r.take()
		is(t, "asked", asked, "0s", "1m0s", "2m0s", "3m0s", "4m0s", "5m0s")
		is(t, "told", told, "2 401 Unauthorized: no such tenant?[31m")
		if got := p.counts(); got != "0 sent, 6 dropped" {
			t.Errorf("got %s", got)
		}
	})
}

func TestQueueIsBoundedAndLosesTheOldest(t *testing.T) {
	away := func() (*http.Response, error) { return nil, errors.New("no route to host") }
	r := &receiver{answers: []func() (*http.Response, error){away}}
	pushing(t, r, func(c *Config) { c.Gather = figures(1000) }, func(p *Pusher) {
		pass(5 * time.Hour)
		oldest, waiting, bytes := p.waiting()
		if bytes > mostBytes || bytes < mostBytes/2 || p.Counts()["dropped"] == 0 {
			t.Errorf("%d bytes wait, %s", bytes, p.counts())
		}
		if oldest != 302-waiting {
			t.Errorf("the first that waits is %d of 301, and %d wait", oldest, waiting)
		}
		_, told := r.take()
		is(t, "told", told, "1 no route to host", "3 the receiver was away for too long")
		r.then(says(200, ""))
		pass(6 * time.Minute)
		_, told = r.take()
		is(t, "told", told, "0")
		if _, waiting, _ := p.waiting(); waiting != 0 {
			t.Errorf("%d wait", waiting)
		}
	})
}

func TestPause(t *testing.T) {
	for _, c := range []struct {
		failures int
		asked    time.Duration
		chance   float64
		want     time.Duration
	}{
		{1, 0, 0, time.Second}, {1, 0, 1, time.Second / 2}, {4, 0, 0, 8 * time.Second}, {9, 0, 0, 256 * time.Second}, {10, 0, 0, 5 * time.Minute}, {1000, 0, 0, 5 * time.Minute},
		{1, time.Minute, 0, time.Minute}, {1000, time.Minute, 0, 5 * time.Minute}, {1, 24 * time.Hour, 0, 15 * time.Minute},
	} {
		if got := pause(c.failures, c.asked, c.chance); got != c.want {
			t.Errorf("%d failures, asked for %s: got %s; want %s", c.failures, c.asked, got, c.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-1": 0, "99999999999999": patience, "999999": patience, "Fri, 01 May 2026 12:01:00 GMT": time.Minute,
		"Fri, 01 May 2026 11:00:00 GMT": 0, "soon": 0} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: got %s; want %s", text, got, want)
		}
	}
}

func TestAddressesAreNotTold(t *testing.T) {
	p, err := New(Config{URL: "http://127.0.0.1:1/write?token=secret"})
	if err != nil {
		t.Fatal(err)
	}
	if a := p.post(t.Context(), batch{body: []byte("x")}); a.err == nil || strings.Contains(a.why(), "secret") {
		t.Errorf("got %q", a.why())
	}
	if _, err := New(Config{URL: "http://example.org", Proxy: "http://[::"}); err == nil {
		t.Error("no error of a proxy that is none")
	}
	if n := bytes.Count([]byte(firstLine(strings.Repeat("x", 5000))), []byte("x")); n != 200 {
		t.Errorf("%d characters of another machine's are told", n)
	}
}
