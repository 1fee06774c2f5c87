package browse

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strconv"

	"go.mongodb.org/mongo-driver/bson"

	"grove/firstboot/browse/extjson"
	"grove/internal/size"
)

//go:embed pages
var files embed.FS

// pages are the templates by their names, each within the frame.
type pages map[string]*template.Template

func parsePages() (pages, error) {
	all := pages{}
	for _, name := range []string{"login", "databases", "collections", "documents"} {
		t, err := template.New("frame.html").Funcs(template.FuncMap{"size": func(n int64) string { return size.Size(n).Short() }}).ParseFS(files, "pages/frame.html", "pages/"+name+".html")
		if err != nil {
			return nil, err
		}
		all[name] = t
	}
	return all, nil
}

func (s *Site) style(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, files, "pages/style.css")
}

// view is what the frame has of every page, and the page of its own.
type view struct {
	Node, User, Form, Fault string
	Database, Collection    string
	Page                    any
}

func (s *Site) write(w http.ResponseWriter, code int, name string, v view) {
	v.Node = s.config.Node()
	var b bytes.Buffer
	if err := s.pages[name].Execute(&b, v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes())
}

// form asks who it is.
func (s *Site) form(w http.ResponseWriter, code int, who login, why string) {
	s.write(w, code, "login", view{Form: s.entry, Fault: why, Page: map[string]string{"User": who.user, "Source": who.source}})
}

// question is one that a person asks: it gives the name of a page and what is on it.
type question func(ctx context.Context, p *session, v url.Values) (name string, shown view, err error)

// asPerson has a question answered for a person who has logged in, and asks others to do so.
func (s *Site) asPerson(ask question) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := s.person(r)
		if p == nil {
			s.form(w, http.StatusUnauthorized, login{source: "admin"}, "")
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), questionMay)
		defer cancel()
		select {
		case s.asking <- struct{}{}:
			defer func() { <-s.asking }()
		case <-ctx.Done():
			http.Error(w, "others are asking", http.StatusServiceUnavailable)
			return
		}
		name, shown, err := ask(ctx, p, r.URL.Query())
		shown.User, shown.Form = p.user, p.form
		if err != nil {
			shown.Fault = err.Error()
		}
		s.write(w, status(err), name, shown)
	}
}

// unclear is a form that can't be understood.
type unclear struct{ error }

func status(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, new(unclear)):
		return http.StatusUnprocessableEntity
	}
	return http.StatusBadGateway
}

func (s *Site) databases(ctx context.Context, p *session, _ url.Values) (string, view, error) {
	all, err := p.server.Databases(ctx)
	return "databases", view{Page: all}, plain(err)
}

// row is a collection with its sizes. Why says that they can't be had.
type row struct {
	collection
	sizes
	Why string
}

// perList is how many collections are asked for their sizes at once.
const perList = 50

func (s *Site) collections(ctx context.Context, p *session, v url.Values) (string, view, error) {
	shown := view{Database: v.Get("db")}
	first, err := from(v.Get("from"))
	if err != nil {
		return "collections", shown, unclear{err}
	}
	all, err := p.server.Collections(ctx, shown.Database)
	if err != nil {
		return "collections", shown, plain(err)
	}
	var rows []row
	begin := min(first, len(all))
	end := min(begin+perList, len(all))
	for _, c := range all[begin:end] {
		r := row{collection: c}
		if !c.View {
			var err error
			if r.sizes, err = p.server.Sizes(ctx, shown.Database, c.Name); err != nil {
				r.Why = plain(err).Error()
			}
		}
		rows = append(rows, r)
	}
	link := url.Values{"db": {shown.Database}}
	shown.Page = struct {
		Rows           []row
		All            int
		Earlier, Later string
	}{rows, len(all), turn("/collections", link, begin-perList, begin > 0), turn("/collections", link, end, end < len(all))}
	return "collections", shown, nil
}

// turn is the link to another page, "" if there is none.
func turn(path string, v url.Values, from int, is bool) string {
	if !is {
		return ""
	}
	v.Set("from", strconv.Itoa(max(from, 0)))
	return path + "?" + v.Encode()
}

// shelf is the page of a collection: the form as it was filled in, and what was found.
type shelf struct {
	Filter, Sort, Projection string
	Sizes                    sizes
	NoSizes                  string
	Indexes                  []string
	NoIndexes                string
	Documents                []string
	From                     int // number of the first one
	Earlier, Later           string
}

func (s *Site) documents(ctx context.Context, p *session, v url.Values) (string, view, error) {
	h := shelf{Filter: v.Get("filter"), Sort: v.Get("sort"), Projection: v.Get("projection")}
	shown := view{Database: v.Get("db"), Collection: v.Get("c")}
	about := func(err error) string {
		if err == nil {
			return ""
		}
		return plain(err).Error()
	}
	var indexes []bson.Raw
	var err error
	h.Sizes, err = p.server.Sizes(ctx, shown.Database, shown.Collection)
	h.NoSizes = about(err)
	indexes, err = p.server.Indexes(ctx, shown.Database, shown.Collection)
	h.NoIndexes = about(err)
	for _, i := range indexes {
		h.Indexes = append(h.Indexes, extjson.Show(i))
	}
	q, err := parseQuery(v)
	if err != nil {
		shown.Page = h
		return "documents", shown, unclear{err}
	}
	more, err := p.server.Documents(ctx, q, func(d bson.Raw) { h.Documents = append(h.Documents, extjson.Show(d)) })
	h.From = q.from + 1
	link := url.Values{"db": {q.database}, "c": {q.collection}, "filter": {h.Filter}, "sort": {h.Sort}, "projection": {h.Projection}}
	h.Earlier, h.Later = turn("/documents", link, q.from-perPage, q.from > 0), turn("/documents", link, q.from+len(h.Documents), more)
	shown.Page = h
	return "documents", shown, plain(err)
}
