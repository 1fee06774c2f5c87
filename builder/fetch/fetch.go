// Package fetch downloads files into the cache by their SHA-256: several at once, resumed where they broke off, kept only when the hash is right.
//
// The network is expected to misbehave: a server may drop the connection, send less than it promised, ignore a Range, stall, or serve another
// version than the one asked for. Each of these ends in the file or, after some seconds, in an error that says what to look at. What was asked for twice
// at once, also by two builds, is downloaded once.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"grove/builder/cache"
	"grove/internal/step"
)

const (
	parallel = 4  // downloads at once; more does not help and some mirrors refuse it
	idle     = 4  // tries in a row that bring nothing before a download is given up
	most     = 20 // tries in all, for a server that drips
)

// Item is one file. Size 0 means unknown; Name is for people, the URL when empty.
type Item struct {
	URL    string
	SHA256 string // 64 hex digits
	Name   string
	Size   int64
}

func (it Item) name() string {
	if it.Name == "" {
		return it.URL
	}
	return it.Name
}

// Fetcher downloads. All fields but Cache may stay zero. One Fetcher serves any number of callers at once.
type Fetcher struct {
	Cache   *cache.Cache
	Offline bool              // take what the cache has, ask no server
	Pause   time.Duration     // before the first new try, doubled for each that follows; 0 is 500 ms
	Stall   time.Duration     // how long a server may send nothing; 0 is 30 s
	Waiting func(name string) // called when another build is downloading the same file

	once   sync.Once
	client *http.Client
}

// ErrContent is a server that has something else than what was asked for: another hash or another length.
var ErrContent = errors.New("not the file that was asked for")

// ErrOffline is something that would have to be downloaded in a build with --offline.
var ErrOffline = errors.New("not in the cache; run once without --offline")

// Get gives the paths of the items in the cache, in their order, after downloading those that are missing. The first error stops all.
func (f *Fetcher) Get(ctx context.Context, items []Item, count step.Counter) ([]string, error) {
	paths := make([]string, len(items))
	counts := make([]step.Counter, len(items))
	tally := NewTally(count)
	for i, it := range items {
		path, found := f.Cache.Blob(it.SHA256)
		if paths[i] = path; !found {
			counts[i] = tally.Part()
			counts[i].Total(it.Size)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i := range items {
		if counts[i] == nil {
			continue
		}
		group.Go(func() (err error) {
			paths[i], err = f.one(ctx, items[i], counts[i])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return paths, nil
}

func (f *Fetcher) one(ctx context.Context, it Item, count step.Counter) (string, error) {
	if len(it.SHA256) != 64 {
		return "", fmt.Errorf("download %s: %q is not a SHA-256", it.name(), it.SHA256)
	}
	if f.Offline {
		return "", fmt.Errorf("%s: %w", it.name(), ErrOffline)
	}
	unlock, err := f.Cache.Lock(ctx, "blob-"+it.SHA256, func() {
		if f.Waiting != nil {
			f.Waiting(it.name())
		}
	})
	if err != nil {
		return "", fmt.Errorf("download %s: %w", it.name(), err)
	}
	defer unlock()
	if path, found := f.Cache.Blob(it.SHA256); found {
		return path, nil // another build was faster
	}
	d := &download{f: f, item: it, path: f.Cache.Partial(it.SHA256), count: count}
	path, err := d.run(ctx)
	if err != nil {
		return "", fmt.Errorf("download %s from %s: %w", it.name(), it.URL, err)
	}
	return path, nil
}

// retry calls once until it succeeds, ends for good, or has brought nothing four times in a row.
func (f *Fetcher) retry(ctx context.Context, once func(context.Context) (progress bool, err error)) error {
	first := f.Pause
	if first == 0 {
		first = 500 * time.Millisecond
	}
	pause := first
	for all, empty := 1, 1; ; all, empty = all+1, empty+1 {
		progress, err := once(ctx)
		if err == nil || lasting(err) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if progress {
			empty, pause = 1, first
		}
		if empty >= idle || all >= most {
			return advice(err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// http is made at first use. Transparent gzip is off: lengths and hashes are of the file as it lies on the server.
func (f *Fetcher) http() *http.Client {
	f.once.Do(func() {
		f.client = &http.Client{Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: f.stall(),
			MaxIdleConnsPerHost:   parallel,
			IdleConnTimeout:       30 * time.Second,
			DisableCompression:    true,
			ForceAttemptHTTP2:     true,
		}}
	})
	return f.client
}

func (f *Fetcher) stall() time.Duration {
	if f.Stall == 0 {
		return 30 * time.Second
	}
	return f.Stall
}
