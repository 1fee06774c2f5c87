// Package browse is a page for the data of the node's own mongod: databases, collections with sizes, counts and indexes, and documents by a filter in extended JSON.
//
// It only reads, and it decides nothing about who may see what: a person gives a user of mongod's and its password, which mongod checks by SCRAM, and every question is asked as
// that user. The password is kept nowhere but in the driver's client of the session, which ends 15 minutes after its last use.
//
// What goes over its connection is not encrypted, so it is for the loopback address only, and to be reached through SSH:
//
//	ssh -L 8081:127.0.0.1:8081 root@db1        then http://localhost:8081/
//
// It refuses what comes to another address, and names in the Host header other than the loopback's own, as of a foreign page that has had its name point to 127.0.0.1. No script
// runs on it.
package browse

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Config is what the page needs of its node.
type Config struct {
	Node   func() string // its name
	Mongod func() int    // mongod's port on the loopback address, 0 while it has none
}

// Site is the page, an http.Handler.
type Site struct {
	config  Config
	dial    func(ctx context.Context, port int, who login) (server, error)
	mux     *http.ServeMux
	pages   pages
	entry   string // the token in the form for logging in
	tries   tries
	asking  chan struct{} // holds one while a question is asked
	mu      sync.Mutex
	persons map[string]*session // by their cookies
}

const (
	mostPersons = 4 // each has a client of the driver
	idle        = 15 * time.Minute
	questionMay = 20 * time.Second
)

// New gives the page. Close ends its sessions.
func New(c Config) (*Site, error) {
	parsed, err := parsePages()
	if err != nil {
		return nil, err
	}
	s := &Site{config: c, dial: dial, pages: parsed, entry: token(), asking: make(chan struct{}, 1), persons: map[string]*session{}}
	s.mux = s.routes()
	return s, nil
}

// Serve has the page on this port of the loopback address until ctx ends.
func Serve(ctx context.Context, port int, c Config, opened func(address string)) error {
	s, err := New(c)
	if err != nil {
		return err
	}
	defer s.Close()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	opened(listener.Addr().String())
	h := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second, WriteTimeout: questionMay + 20*time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10}
	stop := context.AfterFunc(ctx, func() { h.Close() })
	defer stop()
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return context.Cause(ctx)
}

func (s *Site) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /style.css", s.style)
	mux.HandleFunc("POST /in", s.logIn)
	mux.HandleFunc("POST /out", s.logOut)
	mux.HandleFunc("GET /{$}", s.asPerson(s.databases))
	mux.HandleFunc("GET /collections", s.asPerson(s.collections))
	mux.HandleFunc("GET /documents", s.asPerson(s.documents))
	return mux
}

// ServeHTTP lets in who comes by the loopback address.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if why := foreign(localAddress(r), r.Host); why != "" {
		http.Error(w, why, http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	s.mux.ServeHTTP(w, r)
}
