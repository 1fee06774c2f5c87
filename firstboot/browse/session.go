package browse

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// session is a person who has logged in.
type session struct {
	user   string
	server server
	form   string // token of its forms
	used   time.Time
	end    *time.Timer
}

// cookie has the node's name in it: cookies know no ports, and a person may look at several nodes through one machine's.
func (s *Site) cookie() string { return "grove-browse-" + s.config.Node() }

// person gives the session of a request, nil if there is none.
func (s *Site) person(r *http.Request) *session {
	c, err := r.Cookie(s.cookie())
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.persons[c.Value]
	if p != nil {
		p.used = time.Now()
		p.end.Reset(idle)
	}
	return p
}

// admit makes a session. Where there are enough, the one ends that was idle longest.
func (s *Site) admit(w http.ResponseWriter, user string, v server) {
	id := token()
	p := &session{user: user, server: v, form: token(), used: time.Now(), end: time.AfterFunc(idle, func() { s.dismiss(id) })}
	s.mu.Lock()
	oldest := ""
	for other, o := range s.persons {
		if oldest == "" || o.used.Before(s.persons[oldest].used) {
			oldest = other
		}
	}
	full := len(s.persons) >= mostPersons
	s.persons[id] = p
	s.mu.Unlock()
	if full {
		s.dismiss(oldest)
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

// dismiss ends a session, if it is there.
func (s *Site) dismiss(id string) {
	s.mu.Lock()
	p := s.persons[id]
	delete(s.persons, id)
	s.mu.Unlock()
	if p != nil {
		p.end.Stop()
		p.server.Close()
	}
}

// Close ends all sessions.
func (s *Site) Close() {
	s.mu.Lock()
	var all []string
	for id := range s.persons {
		all = append(all, id)
	}
	s.mu.Unlock()
	for _, id := range all {
		s.dismiss(id)
	}
}

// login is what a person gives.
type login struct{ user, password, source string }

func (s *Site) logIn(w http.ResponseWriter, r *http.Request) {
	who := login{strings.TrimSpace(r.PostFormValue("user")), r.PostFormValue("password"), strings.TrimSpace(r.PostFormValue("source"))}
	if who.source == "" {
		who.source = "admin"
	}
	code, why := s.try(w, r, who)
	if why != "" {
		s.form(w, code, who, why)
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// try logs a person in, or says why not.
func (s *Site) try(w http.ResponseWriter, r *http.Request, who login) (code int, why string) {
	port := s.config.Mongod()
	switch {
	case !same(r.PostFormValue("token"), s.entry):
		return http.StatusForbidden, "the form was an old one; please try again"
	case who.user == "" || who.password == "":
		return http.StatusUnprocessableEntity, "a user of mongod's and its password are wanted"
	case port == 0:
		return http.StatusServiceUnavailable, "mongod does not run"
	}
	if wait := s.tries.take(time.Now()); wait > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(wait.Seconds())+1))
		return http.StatusTooManyRequests, fmt.Sprintf("%d wrong passwords within a minute; the next may be tried in %d s", mostWrong, int(wait.Seconds())+1)
	}
	ctx, cancel := context.WithTimeout(r.Context(), questionMay)
	defer cancel()
	v, err := s.dial(ctx, port, who)
	if errors.Is(err, errWrong) {
		return http.StatusUnauthorized, err.Error()
	}
	s.tries.giveBack()
	if err != nil {
		return http.StatusBadGateway, err.Error()
	}
	s.admit(w, who.user, v)
	return 0, ""
}

func (s *Site) logOut(w http.ResponseWriter, r *http.Request) {
	p := s.person(r)
	if p != nil && !same(r.PostFormValue("token"), p.form) {
		http.Error(w, "the form was an old one", http.StatusForbidden)
		return
	}
	if c, err := r.Cookie(s.cookie()); err == nil {
		s.dismiss(c.Value)
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookie(), Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
