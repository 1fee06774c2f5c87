package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"grove/builder/cache"
	"grove/internal/size"
	"grove/internal/step"
)

// download is one file on its way. What has come lies in path, which outlives a failed run.
type download struct {
	f       *Fetcher
	item    Item
	path    string
	count   step.Counter
	counted int64 // how far count has been told; a file that starts anew does not count twice
	pieced  bool  // path was put together of several answers, which may be of different files
}

// run downloads and keeps the file; a wrong hash of a file that came in pieces gets one download more, from the start.
func (d *download) run(ctx context.Context) (string, error) {
	d.pieced = d.have() > 0
	for first := true; ; first = false {
		err := d.f.retry(ctx, d.once)
		if err == nil {
			path, kept := d.f.Cache.Keep(d.path, d.item.SHA256)
			if kept == nil {
				return path, nil
			}
			err = kept
			var wrong *cache.Mismatch
			if errors.As(kept, &wrong) {
				err = fmt.Errorf("%w: %w", ErrContent, wrong)
			}
		}
		if !errors.Is(err, ErrContent) || !d.pieced || !first {
			return "", err
		}
		if err := os.RemoveAll(d.path); err != nil {
			return "", err
		}
	}
}

func (d *download) have() int64 {
	info, err := os.Stat(d.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// once asks for what is missing and appends it. progress says whether a byte came.
func (d *download) once(ctx context.Context) (progress bool, err error) {
	offset := d.have()
	if d.item.Size > 0 && offset == d.item.Size {
		return false, nil
	}
	ctx, alive, stop := d.f.watch(ctx)
	defer stop()
	resp, err := d.f.ask(ctx, d.item.URL, offset)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && offset > 0 {
		return false, errors.Join(errStale, os.Remove(d.path))
	}
	offset, want, err := place(resp, offset)
	if err != nil {
		return false, err
	}
	if d.item.Size > 0 && want > 0 && want != d.item.Size {
		os.Remove(d.path)
		return false, fmt.Errorf("%w: have %d bytes, want %d", ErrContent, want, d.item.Size)
	}
	return d.append(ctx, resp.Body, offset, max(want, d.item.Size), alive)
}

var errStale = errors.New("the server has less than the part at hand")

// place reads where the body of an answer belongs and how long the whole file is, 0 when the server does not say.
func place(resp *http.Response, asked int64) (offset, whole int64, err error) {
	switch resp.StatusCode {
	case http.StatusOK: // the whole file, also when the server does not know Range
		return 0, max(resp.ContentLength, 0), nil
	case http.StatusPartialContent:
		span, length, _ := strings.Cut(strings.TrimPrefix(resp.Header.Get("Content-Range"), "bytes "), "/")
		first, _, _ := strings.Cut(span, "-")
		if from, err := strconv.ParseInt(first, 10, 64); err != nil || from != asked {
			return 0, 0, fmt.Errorf("asked for bytes from %d, the server sends %q", asked, resp.Header.Get("Content-Range"))
		}
		whole, _ = strconv.ParseInt(length, 10, 64) // * where unknown
		return asked, whole, nil
	}
	return 0, 0, &Status{resp.StatusCode}
}

// append writes the body behind offset. want is the length of the whole file, 0 when unknown.
func (d *download) append(ctx context.Context, body io.Reader, offset, want int64, alive func()) (progress bool, err error) {
	file, err := os.OpenFile(d.path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return false, err
	}
	defer file.Close()
	if d.have() > offset {
		if err := file.Truncate(offset); err != nil {
			return false, err
		}
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return false, err
	}
	if want > 0 {
		d.count.Total(want)
	}
	d.pieced = d.pieced || offset > 0
	at := offset
	d.tell(at)
	buf := make([]byte, 256<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			alive()
			if _, err := file.Write(buf[:n]); err != nil {
				return at > offset, err
			}
			at += int64(n)
			d.tell(at)
		}
		switch {
		case d.item.Size > 0 && at > d.item.Size:
			file.Truncate(0)
			return true, fmt.Errorf("%w: more than the %d bytes wanted", ErrContent, d.item.Size)
		case err == io.EOF && at >= want:
			return true, file.Close()
		case err != nil:
			return at > offset, d.broken(ctx, at, want, err)
		}
	}
}

func (d *download) tell(at int64) {
	if at > d.counted {
		d.count.Add(at - d.counted)
		d.counted = at
	}
}

func (d *download) broken(ctx context.Context, at, want int64, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = errors.New("the server ended the transfer")
	}
	if want == 0 {
		return fmt.Errorf("broke off after %s: %w", size.Size(at).Short(), err)
	}
	return fmt.Errorf("broke off after %d of %d bytes: %w", at, want, err)
}

// ask sends the request, for the bytes from offset on.
func (f *Fetcher) ask(ctx context.Context, url string, offset int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "grove")
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	resp, err := f.http().Do(req)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return resp, err
}

// watch ends ctx when alive has not been called for the stall time.
func (f *Fetcher) watch(ctx context.Context) (_ context.Context, alive, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(f.stall(), func() { cancel(&stalled{f.stall()}) })
	return ctx, func() { timer.Reset(f.stall()) }, func() { timer.Stop(); cancel(nil) }
}

// stalled is a server that sends nothing; it counts as a network error that may pass.
type stalled struct{ after time.Duration }

func (s *stalled) Error() string   { return fmt.Sprintf("nothing came for %s", s.after) }
func (s *stalled) Timeout() bool   { return true }
func (s *stalled) Temporary() bool { return true }
