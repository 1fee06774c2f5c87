package browse

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// protect keeps scripts, frames, caches and other sites out.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

func localAddress(r *http.Request) net.Addr {
	a, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return a
}

// foreign decides why a request is refused, "" if it is not: it did not come to the loopback address, or it asks for another name, as a page does that has its own name point here.
func foreign(local net.Addr, host string) string {
	tcp, is := local.(*net.TCPAddr)
	if !is || !tcp.IP.IsLoopback() {
		return "this page is for the node's loopback address only: ssh -L 8081:127.0.0.1:8081 root@NODE, then http://localhost:8081/"
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	a, err := netip.ParseAddr(strings.Trim(name, "[]"))
	if !strings.EqualFold(name, "localhost") && (err != nil || !a.IsLoopback()) {
		return "this page goes by the name localhost only"
	}
	return ""
}

// token is 256 random bits. crypto/rand does not fail.
func token() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// tries are the wrong passwords of late, of all persons together: they all come from the loopback address.
type tries struct {
	mu    sync.Mutex
	wrong []time.Time
}

const (
	mostWrong = 5
	wrongFor  = time.Minute
)

// pause decides how long nobody may try, 0 for now.
func pause(now time.Time, wrong []time.Time) time.Duration {
	if len(wrong) < mostWrong {
		return 0
	}
	return max(0, wrong[len(wrong)-mostWrong].Add(wrongFor).Sub(now))
}

// take counts an attempt as a wrong one before it is made, so that many at once are as many.
func (t *tries) take(now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrong = slices.DeleteFunc(t.wrong, func(at time.Time) bool { return now.Sub(at) >= wrongFor })
	if wait = pause(now, t.wrong); wait == 0 {
		t.wrong = append(t.wrong, now)
	}
	return wait
}

// giveBack takes one out that was right, or that mongod did not hear.
func (t *tries) giveBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.wrong); n > 0 {
		t.wrong = t.wrong[:n-1]
	}
}
