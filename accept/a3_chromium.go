package main

import (
	"context"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"grove/internal/host"
)

// chromium is the browser's path, "" where there is none.
func chromium() string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if info, err := os.Stat(filepath.Join(dir, "chromium")); err == nil && info.Mode()&0o111 != 0 {
			return filepath.Join(dir, "chromium")
		}
	}
	return ""
}

func pageInChromium(ctx context.Context, b *bench) (string, error) {
	if chromium() == "" {
		return "", fmt.Errorf("chromium is not on the PATH: apt-get install --no-install-recommends chromium")
	}
	return b.pageNode(ctx, func(ctx context.Context, _ *rig, s site) (string, error) {
		dir := b.folder("chromium")
		var sizes []string
		for _, width := range []int{390, 1280} {
			wide, err := b.width(ctx, s, dir, width)
			if err != nil {
				return "", err
			}
			if wide > width {
				return "", fmt.Errorf("the page is %d pixels wide in a window of %d", wide, width)
			}
			shot := filepath.Join(dir, fmt.Sprintf("%d.png", width))
			if _, err := b.browse(ctx, dir, width, "--screenshot="+shot, "http://"+s.address+"/"); err != nil {
				return "", err
			}
			colours, err := picture(shot)
			if err != nil {
				return "", err
			}
			sizes = append(sizes, fmt.Sprintf("%s: %d wide, %d colours", shot, wide, colours))
		}
		return strings.Join(sizes, "; "), nil
	})
}

func (b *bench) browse(ctx context.Context, dir string, width int, args ...string) (string, error) {
	all := append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + filepath.Join(dir, "profile"), fmt.Sprintf("--window-size=%d,3000", width)}, args...)
	out, err := b.host.Run(ctx, host.Command{Path: chromium(), Args: all})
	return string(out), err
}

// The window's page holds the node's in a frame of the wanted width, as a window of Chromium's is never narrower than 500, and has the frame tell its own width.
const frame = `<!doctype html><body><iframe src="/page" width="%d" height="3000" style="border:0"></iframe>`
const measure = `<script>parent.document.body.dataset.wide = document.documentElement.scrollWidth</script></body>`

// width lays the page out beside a script that measures it, which the page's own policy would not let run; what the page itself asks for is counted.
func (b *bench) width(ctx context.Context, s site, dir string, window int) (int, error) {
	r, text, err := s.get(ctx, "GET", "/")
	if err != nil {
		return 0, err
	}
	var mu sync.Mutex
	var asked []string
	copied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		asked = append(asked, q.URL.Path)
		mu.Unlock()
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		switch q.URL.Path {
		case "/":
			fmt.Fprintf(w, frame, window)
		case "/page":
			_, _ = w.Write([]byte(strings.Replace(text, "</body>", measure, 1)))
		default:
			http.NotFound(w, q)
		}
	}))
	defer copied.Close()
	out, err := b.browse(ctx, dir, 1400, "--dump-dom", copied.URL+"/")
	if err != nil {
		return 0, err
	}
	mu.Lock()
	defer mu.Unlock()
	for _, path := range asked {
		if path != "/" && path != "/page" && path != "/favicon.ico" { // every browser asks for the last by itself
			return 0, fmt.Errorf("the page has the browser ask for %s", path)
		}
	}
	found := regexp.MustCompile(`data-wide="(\d+)"`).FindStringSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("the browser has not laid the page out: %s", out)
	}
	return strconv.Atoi(found[1])
}

// picture reads a screenshot, which has colours unless it is empty.
func picture(file string) (colours int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		return 0, err
	}
	seen := map[[3]uint32]bool{}
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			r, g, b, _ := m.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
		}
	}
	if len(seen) < 20 {
		return 0, fmt.Errorf("%s has %d colours: it shows nothing", file, len(seen))
	}
	return len(seen), nil
}
