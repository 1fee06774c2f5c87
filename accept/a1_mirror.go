package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
)

// badSignature builds from a mirror on loopback whose InRelease a stranger signed.
func badSignature(ctx context.Context, b *bench, out string) (result, error) {
	stranger, err := openpgp.NewEntity("Stranger", "", "stranger@example.org", nil)
	if err != nil {
		return result{}, err
	}
	var signed bytes.Buffer
	w, err := clearsign.Encode(&signed, stranger.PrivateKey, nil)
	if err != nil {
		return result{}, err
	}
	fmt.Fprintf(w, "Origin: Debian\nSuite: stable\nCodename: trixie\nDate: %s\nSHA256:\n", time.Now().UTC().Format(time.RFC1123))
	if err := w.Close(); err != nil {
		return result{}, err
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/InRelease") {
			w.Write(signed.Bytes())
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	return b.run(ctx, []string{"GROVE_DEBIAN_MIRROR=" + server.URL, "GROVE_CACHE=" + b.folder("cache")}, "build", "solo", "-o", out), nil
}

// interrupted sends Ctrl-C into a build with an empty cache, at several moments, and then sees that the next build is whole.
func interrupted(ctx context.Context, b *bench) (string, error) {
	image, err := b.image(ctx)
	if err != nil {
		return "", err
	}
	want, err := sum(image)
	if err != nil {
		return "", err
	}
	cache, out := b.folder("cache"), filepath.Join(b.folder("out"), "o")
	var when []string
	for _, after := range []time.Duration{300 * time.Millisecond, 2 * time.Second, 4 * time.Second} {
		r, err := b.signalled(ctx, after, "GROVE_CACHE="+cache, out)
		if err != nil {
			return "", err
		}
		if r.code == 0 {
			break // done before the signal: nothing to see
		}
		if err := errors.Join(r.wants(130, "interrupted"), empty(out), empty(filepath.Join(cache, "parts"))); err != nil && !strings.Contains(err.Error(), "parts") {
			return "", fmt.Errorf("after %s: %w", after, err)
		}
		when = append(when, after.String())
	}
	if len(when) == 0 {
		return "", errors.New("no build was slow enough to be interrupted")
	}
	if r := b.run(ctx, []string{"GROVE_CACHE=" + cache}, "build", "solo", "-o", out); r.code != 0 {
		return "", fmt.Errorf("the build after them: exit code %d: %s", r.code, r.out)
	}
	got, err := sum(filepath.Join(out, "solo.img"))
	if err != nil || got != want {
		return "", fmt.Errorf("the build after them: have %s, want %s: %v", got, want, err)
	}
	return "interrupted after " + strings.Join(when, ", ") + "; the next build gives the same bytes", nil
}

// signalled runs grove build solo and interrupts it.
func (b *bench) signalled(ctx context.Context, after time.Duration, env, out string) (result, error) {
	command := b.command([]string{env}, "build", "solo", "-o", out)
	var printed bytes.Buffer
	command.Stdout, command.Stderr = &printed, &printed
	p, err := b.host.Start(ctx, command)
	if err != nil {
		return result{}, err
	}
	timer := time.AfterFunc(after, func() { p.Signal(os.Interrupt) })
	defer timer.Stop()
	err = p.Wait()
	r := result{out: printed.String()}
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		r.code = coded.ExitCode()
	}
	return r, nil
}

// together runs two builds at once in one empty cache.
func together(ctx context.Context, b *bench) (string, error) {
	cache := "GROVE_CACHE=" + b.folder("cache")
	type ended struct {
		sum string
		err error
	}
	both := make(chan ended, 2)
	for range 2 {
		go func() {
			out := b.folder("out")
			if r := b.run(ctx, []string{cache}, "build", "solo", "-o", out); r.code != 0 {
				both <- ended{err: fmt.Errorf("exit code %d: %s", r.code, r.out)}
				return
			}
			s, err := sum(filepath.Join(out, "solo.img"))
			both <- ended{s, err}
		}()
	}
	first, second := <-both, <-both
	if err := errors.Join(first.err, second.err); err != nil {
		return "", err
	}
	if first.sum != second.sum {
		return "", fmt.Errorf("have %s and %s", first.sum, second.sum)
	}
	return "two equal sha256 " + first.sum[:16], nil
}
