// Package page is what a node shows to a person who looks at it with a browser, on a telephone as well: what is wrong first, then mongod, the disks, the tuning with before and
// after, network, clock, access, and the end of mongod's log. Programs have /healthz, /status.json and /metrics.
//
// It changes nothing and asks nobody's name: the firewall decides who reaches it. No script runs on it, and it loads nothing, from here or elsewhere. It stays below 100 KB: of
// long lists it shows the first, and says how many it left out. A client that is slow, or one of too many, costs a connection and no more.
package page

import (
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"grove/firstboot/status"
)

// Config is what the page needs of its node.
type Config struct {
	Status  func() status.Status // as it is now; the caller may change it
	Log     func() string        // the end of mongod's log, at most LogTail bytes
	Now     func() time.Time
	Metrics http.Handler         // nil: there are none
	Samples http.Handler         // what was measured since yesterday, as JSON; nil: nothing is
	Plots   func() template.HTML // the same, drawn; nil: nothing is
}

// LogTail is how much of mongod's log is looked at, in bytes.
const LogTail = 16 << 10

// Most connections at once: a person's browser has six, a scraper one.
const most = 16

// bye is how long those who are being answered may take when the page ends.
const bye = time.Second

// Serve answers until ctx ends, and closes l.
func Serve(ctx context.Context, l net.Listener, c Config) error {
	h, err := Handler(c)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 20 * time.Second, IdleTimeout: 30 * time.Second, MaxHeaderBytes: 8 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)} // of clients that break off; the console is for the node
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), bye)
		defer cancel()
		if s.Shutdown(last) != nil {
			_ = s.Close()
		}
	})
	err = s.Serve(netutil.LimitListener(l, most))
	if stop() {
		return errors.Join(err, s.Close()) // the port is lost
	}
	<-ended
	return context.Cause(ctx)
}

// site is the page and its doors for programs.
type site struct {
	config Config
	page   *template.Template
}

// Handler is all of it, for a server of the caller's.
func Handler(c Config) (http.Handler, error) {
	t, err := parse()
	if err != nil {
		return nil, err
	}
	s := site{c, t}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.show)
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /status.json", s.json)
	for path, h := range map[string]http.Handler{"/metrics": c.Metrics, "/samples.json": c.Samples} {
		if h != nil {
			mux.Handle("GET "+path, h)
		}
	}
	return protected(mux), nil
}

// protected keeps scripts, frames, caches and other sites out.
func protected(next http.Handler) http.Handler {
	policy := "default-src 'none'; style-src '" + styleHash() + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
