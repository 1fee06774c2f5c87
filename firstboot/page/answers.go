package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"grove/firstboot/status"
)

//go:embed page.html
var pageText string

//go:embed style.css
var styleText string

func parse() (*template.Template, error) { return template.New("page").Parse(pageText) }

// styleHash names the one style that a browser may use (CSP level 3, 2.3.1).
func styleHash() string {
	sum := sha256.Sum256([]byte(styleText))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// show makes the page whole before it sends a byte of it.
func (s site) show(w http.ResponseWriter, _ *http.Request) {
	var page bytes.Buffer
	v := look(s.config.Status(), s.config.Log(), s.config.Now())
	v.Metrics, v.Samples = s.config.Metrics != nil, s.config.Samples != nil
	if s.config.Plots != nil {
		v.Plots = s.config.Plots()
	}
	if err := s.page.Execute(&page, v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, http.StatusOK, "text/html; charset=utf-8", page.Bytes())
}

// health is for a program that asks whether the node is to be sent work: one that serves says ok, whatever problems it has besides.
func (s site) health(w http.ResponseWriter, _ *http.Request) {
	now := s.config.Status()
	if now.Phase == "serving" {
		answer(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
		return
	}
	lines := append([]string{now.Phase}, now.Problems...)
	answer(w, http.StatusServiceUnavailable, "text/plain; charset=utf-8", []byte(strings.Join(lines, "\n")+"\n"))
}

func (s site) json(w http.ResponseWriter, _ *http.Request) {
	data, err := status.Marshal(s.config.Status())
	if err != nil {
		http.Error(w, fmt.Sprintf("write the status: %v", err), http.StatusInternalServerError)
		return
	}
	answer(w, http.StatusOK, "application/json", data)
}

func answer(w http.ResponseWriter, code int, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body) // who is gone needs no answer
}
