package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Limit is the largest answer that Bytes takes.
const Limit = 16 << 20

var errTooLarge = fmt.Errorf("more than %d MiB where a small text is expected", Limit>>20)

// Bytes gives what a URL holds now, at most Limit, and keeps nothing. Nothing vouches for it: whoever asks must check a signature in it.
func (f *Fetcher) Bytes(ctx context.Context, url string) ([]byte, error) {
	if f.Offline {
		return nil, fmt.Errorf("%s: %w", url, ErrOffline)
	}
	var data []byte
	err := f.retry(ctx, func(ctx context.Context) (bool, error) {
		var err error
		data, err = f.bytes(ctx, url)
		return false, err
	})
	if err != nil {
		return nil, fmt.Errorf("download %s: %w", url, err)
	}
	return data, nil
}

func (f *Fetcher) bytes(ctx context.Context, url string) ([]byte, error) {
	ctx, alive, stop := f.watch(ctx)
	defer stop()
	resp, err := f.ask(ctx, url, 0)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return nil, &Status{resp.StatusCode}
	}
	data, err := io.ReadAll(io.LimitReader(beat{resp.Body, alive}, Limit+1))
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil && len(data) > Limit {
		err = errTooLarge
	}
	return data, err
}

// beat calls alive whenever something was read.
type beat struct {
	r     io.Reader
	alive func()
}

func (b beat) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if n > 0 {
		b.alive()
	}
	return n, err
}
