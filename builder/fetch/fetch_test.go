package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"grove/builder/cache"
	"grove/internal/host"
	"grove/internal/step"
)

// content is 300 KB, more than one read.
var content = bytes.Repeat([]byte("grove downloads "), 300<<10/16)

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// server answers with what handle does on its nth request, 0 first; ok serves the content properly, Range and all.
func server(t *testing.T, handle func(n int, w http.ResponseWriter, r *http.Request)) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handle(int(requests.Add(1))-1, w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/file", requests
}

func ok(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// short promises the whole content and sends n bytes of it.
func short(w http.ResponseWriter, n int) {
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.Write(content[:n])
	panic(http.ErrAbortHandler)
}

func fetcher(t *testing.T) *Fetcher {
	t.Helper()
	c, err := cache.Open(t.TempDir(), host.Real{})
	if err != nil {
		t.Fatal(err)
	}
	return &Fetcher{Cache: c, Pause: time.Millisecond}
}

func item(url string) Item {
	return Item{URL: url, SHA256: sum(content), Name: "the file", Size: int64(len(content))}
}

// counter keeps the last total and the sum.
type counter struct{ total, sum atomic.Int64 }

func (c *counter) Total(n int64) { c.total.Store(n) }
func (c *counter) Add(n int64)   { c.sum.Add(n) }

func TestADownloadArrives(t *testing.T) {
	rows := []struct {
		name     string
		partial  []byte // left by an earlier run
		size     bool   // of the file is known
		handle   func(n int, w http.ResponseWriter, r *http.Request)
		requests int64
	}{
		{"at once", nil, true, func(n int, w http.ResponseWriter, r *http.Request) { ok(w, r) }, 1},
		{"without its size known", nil, false, func(n int, w http.ResponseWriter, r *http.Request) { ok(w, r) }, 1},
		{"without a length from the server", nil, false, func(n int, w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			w.Write(content)
		}, 1},
		{"from where the last run stopped", content[:1000], true, func(n int, w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("Range"); got != "bytes=1000-" {
				t.Errorf("got Range %q, want bytes=1000-", got)
			}
			ok(w, r)
		}, 1},
		{"whole from a server that ignores Range", content[:1000], true, func(n int, w http.ResponseWriter, r *http.Request) {
			w.Write(content)
		}, 1},
		{"anew when the part at hand is of another file", []byte("something else"), true, func(n int, w http.ResponseWriter, r *http.Request) { ok(w, r) }, 2},
		{"anew when the part at hand is longer than the file", append(append([]byte{}, content...), "more"...), false, func(n int, w http.ResponseWriter, r *http.Request) { ok(w, r) }, 2},
		{"without asking when the last run had it all", content, true, func(n int, w http.ResponseWriter, r *http.Request) { ok(w, r) }, 0},
		{"after it was cut short three times", nil, true, func(n int, w http.ResponseWriter, r *http.Request) {
			if n < 3 && n > 0 {
				panic(http.ErrAbortHandler)
			}
			if n == 0 {
				short(w, 100_000)
			}
			ok(w, r)
		}, 4},
		{"after 503 and 429", nil, true, func(n int, w http.ResponseWriter, r *http.Request) {
			if n < 2 {
				http.Error(w, "later", []int{503, 429}[n])
				return
			}
			ok(w, r)
		}, 3},
		{"anew when the file changed between two pieces", nil, true, func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 0 {
				w.Header().Set("Content-Length", fmt.Sprint(len(content)))
				w.Write(bytes.Repeat([]byte("old "), 1000))
				panic(http.ErrAbortHandler)
			}
			ok(w, r)
		}, 3},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			url, requests := server(t, row.handle)
			f, it := fetcher(t), item(url)
			if !row.size {
				it.Size = 0
			}
			if row.partial != nil {
				if err := os.WriteFile(f.Cache.Partial(it.SHA256), row.partial, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var count counter
			paths, err := f.Get(t.Context(), []Item{it}, &count)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(paths[0]); err != nil || !bytes.Equal(got, content) {
				t.Errorf("got %d bytes, %v; want the content", len(got), err)
			}
			if got := requests.Load(); got != row.requests {
				t.Errorf("got %d requests, want %d", got, row.requests)
			}
			if got := count.sum.Load(); row.requests > 0 && row.partial == nil && got != int64(len(content)) {
				t.Errorf("counted %d bytes, want %d", got, len(content))
			}
			if again, err := f.Get(t.Context(), []Item{it}, step.Silent{}); err != nil || again[0] != paths[0] || requests.Load() != row.requests {
				t.Errorf("a second Get: %v, %v, %d requests; want the kept file, no more requests", again, err, requests.Load())
			}
		})
	}
}

func TestADownloadFails(t *testing.T) {
	rows := []struct {
		name     string
		handle   func(n int, w http.ResponseWriter, r *http.Request)
		requests int64
		want     []string
		is       error
	}{
		{"with both hashes when the content is another of the same length", func(n int, w http.ResponseWriter, r *http.Request) {
			w.Write(bytes.ToUpper(content))
		}, 1, []string{"the file", "/file", "have sha256 " + sum(bytes.ToUpper(content)), "want " + sum(content)}, ErrContent},
		{"with both lengths when the server has another length", func(n int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "5")
			w.Write([]byte("hello"))
		}, 1, []string{"have 5 bytes, want 307200"}, ErrContent},
		{"when more comes than wanted", func(n int, w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			w.Write(content)
			w.Write(content)
		}, 1, []string{"more than the 307200 bytes"}, ErrContent},
		{"at once when there is no such file", func(n int, w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) },
			1, []string{"the server says 404 Not Found"}, nil},
		{"with how much came when the server always stops early", func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 0 {
				short(w, 4096)
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 4096-%d/%d", len(content)-1, len(content)))
			w.Header().Set("Content-Length", fmt.Sprint(len(content)-4096))
			w.WriteHeader(http.StatusPartialContent)
		}, 4, []string{"broke off after 4096 of 307200 bytes"}, nil},
		{"after four 500s", func(n int, w http.ResponseWriter, r *http.Request) { http.Error(w, "no", 500) }, 4, []string{"500 Internal Server Error"}, nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			url, requests := server(t, row.handle)
			f := fetcher(t)
			_, err := f.Get(t.Context(), []Item{item(url)}, step.Silent{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
			if row.is != nil && !errors.Is(err, row.is) {
				t.Errorf("got %v, want it to be %v", err, row.is)
			}
			if got := requests.Load(); got != row.requests {
				t.Errorf("got %d requests, want %d", got, row.requests)
			}
			if _, found := f.Cache.Blob(sum(content)); found {
				t.Error("a blob was kept")
			}
			if row.is == ErrContent && (&download{path: f.Cache.Partial(sum(content))}).have() > 0 {
				t.Error("bytes of the wrong file were kept")
			}
		})
	}
}

func TestNobodyListening(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, err = fetcher(t).Get(t.Context(), []Item{item("http://" + addr + "/file")}, step.Silent{})
	if err == nil || !strings.Contains(err.Error(), "connection refused") || !strings.Contains(err.Error(), "check the network") {
		t.Errorf("got %v, want connection refused and what to check", err)
	}
}

func TestOfflineTakesOnlyTheCache(t *testing.T) {
	f := fetcher(t)
	url, requests := server(t, func(_ int, w http.ResponseWriter, r *http.Request) { ok(w, r) })
	f.Offline = true
	_, err := f.Get(t.Context(), []Item{item(url)}, step.Silent{})
	if !errors.Is(err, ErrOffline) || err.Error() != "the file: not in the cache; run once without --offline" {
		t.Errorf("got %v", err)
	}
	if _, err := f.Bytes(t.Context(), url); !errors.Is(err, ErrOffline) {
		t.Errorf("Bytes: got %v", err)
	}
	f.Offline = false
	if _, err := f.Get(t.Context(), []Item{item(url)}, step.Silent{}); err != nil {
		t.Fatal(err)
	}
	f.Offline = true
	if _, err := f.Get(t.Context(), []Item{item(url)}, step.Silent{}); err != nil {
		t.Errorf("with the file in the cache: %v", err)
	}
	if requests.Load() != 1 {
		t.Errorf("%d requests, want 1", requests.Load())
	}
}

func TestTwoBuildsDownloadOnce(t *testing.T) {
	f := fetcher(t)
	url, requests := server(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		time.Sleep(50 * time.Millisecond)
		ok(w, r)
	})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			other := &Fetcher{Cache: f.Cache}
			if _, err := other.Get(t.Context(), []Item{item(url), item(url)}, step.Silent{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if requests.Load() != 1 {
		t.Errorf("%d requests, want 1", requests.Load())
	}
}

func TestASilentServerIsGivenUp(t *testing.T) {
	f := fetcher(t)
	f.Stall = 30 * time.Millisecond
	url, requests := server(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n%2 == 1 { // before the header, and in the body
			w.Write(content[:10])
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	})
	start := time.Now()
	_, err := f.Get(t.Context(), []Item{{URL: url, SHA256: sum(content)}}, step.Silent{})
	if err == nil || !strings.Contains(err.Error(), "nothing came for 30ms") {
		t.Errorf("got %v after %d requests", err, requests.Load())
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestCancelKeepsThePart(t *testing.T) {
	f := fetcher(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped by the user")
	url, _ := server(t, func(n int, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		w.Write(content[:5000])
		w.(http.Flusher).Flush()
		time.AfterFunc(50*time.Millisecond, func() { cancel(stop) })
		<-r.Context().Done()
	})
	_, err := f.Get(ctx, []Item{item(url)}, step.Silent{})
	if !errors.Is(err, stop) {
		t.Errorf("got %v, want the cause", err)
	}
	if got, err := os.ReadFile(f.Cache.Partial(sum(content))); err != nil || !bytes.Equal(got, content[:5000]) {
		t.Errorf("part at hand: %d bytes, %v; want 5000", len(got), err)
	}
}

func TestAFullDiskNamesThePlace(t *testing.T) {
	f := fetcher(t)
	if err := os.Symlink("/dev/full", f.Cache.Partial(sum(content))); err != nil {
		t.Fatal(err)
	}
	url, requests := server(t, func(_ int, w http.ResponseWriter, r *http.Request) { ok(w, r) })
	_, err := f.Get(t.Context(), []Item{item(url)}, step.Silent{})
	if err == nil || !strings.Contains(err.Error(), ".partial: no space left on device") {
		t.Errorf("got %v", err)
	}
	if requests.Load() != 1 {
		t.Errorf("%d requests, want 1: a full disk does not pass", requests.Load())
	}
}

func TestBytes(t *testing.T) {
	f := fetcher(t)
	url, _ := server(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 0 {
			http.Error(w, "later", 502)
			return
		}
		ok(w, r)
	})
	if got, err := f.Bytes(t.Context(), url); err != nil || !bytes.Equal(got, content) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	url, _ = server(t, func(n int, w http.ResponseWriter, r *http.Request) {
		for range Limit/len(content) + 2 {
			if _, err := w.Write(content); err != nil {
				return
			}
		}
	})
	if _, err := f.Bytes(t.Context(), url); err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Errorf("too large: got %v", err)
	}
	url, _ = server(t, func(n int, w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	var status *Status
	if _, err := f.Bytes(t.Context(), url); !errors.As(err, &status) || status.Code != 404 {
		t.Errorf("missing: got %v", err)
	}
}
