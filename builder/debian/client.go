package debian

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"grove/builder/debian/release"
	"grove/builder/fetch"
	"grove/internal/step"
)

// Client asks one mirror for one architecture.
type Client struct {
	Origin  Origin
	Fetcher *fetch.Fetcher
	Refresh bool // ask the mirror for its releases even when those at hand are less than an hour old
}

// ErrSignature is an InRelease without a valid signature by a known key. Nothing of its suite is used then.
var ErrSignature = release.ErrSignature

// suite is one of the three that are read.
type suite struct {
	name   string
	mirror string
	needed bool
}

func (o Origin) suites() []suite {
	all := []suite{{o.Suite, o.Mirror, true}}
	if o.Suite == "sid" || o.Suite == "unstable" {
		return all // has neither of the others
	}
	all = append(all, suite{o.Suite + "-updates", o.Mirror, false})
	if o.Security != "" {
		all = append(all, suite{o.Suite + "-security", o.Security, false})
	}
	return all
}

// Index loads the indexes of all suites, from the cache where the releases at hand are fresh enough.
func (c Client) Index(ctx context.Context, count step.Counter) (*Index, error) {
	keys, err := release.Keys(c.Origin.Keyrings)
	if err != nil {
		return nil, err
	}
	suites := c.Origin.suites()
	tables := make([]*tables, len(suites))
	notes := make([][]string, len(suites))
	tally := fetch.NewTally(count)
	group, within := errgroup.WithContext(ctx)
	for i, s := range suites {
		group.Go(func() (err error) {
			tables[i], notes[i], err = c.suite(within, keys, s, tally.Part())
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	x := &Index{client: c, Warnings: slices.Concat(notes...)}
	for _, t := range tables {
		if t != nil {
			x.tables = append(x.tables, t)
		}
	}
	if c.Origin.Security == "" && len(suites) > 1 {
		x.Warnings = append(x.Warnings, c.Origin.Suite+"-security is left out: no address of a security archive is known; GROVE_DEBIAN_SECURITY names one")
	}
	return x, nil
}

// suite loads one suite. An optional one that can't be had gives no tables and a warning.
func (c Client) suite(ctx context.Context, keys release.Keyring, s suite, count step.Counter) (*tables, []string, error) {
	if s.needed {
		return c.load(ctx, keys, s, count)
	}
	if why := c.lacking(s); why != "" && !c.Refresh {
		return nil, []string{why}, nil
	}
	t, notes, err := c.load(ctx, keys, s, count)
	if err == nil {
		return t, notes, c.found(s)
	}
	if errors.Is(err, ErrSignature) || ctx.Err() != nil {
		return nil, nil, err
	}
	why := fmt.Sprintf("%s is left out: %v", s.name, err)
	if c.Fetcher.Offline {
		return nil, []string{why}, nil
	}
	return nil, []string{why}, c.put(s, c.missing(), []byte(why))
}

// Fetch gives the files of the packages, in their order, downloading those that the cache lacks. It needs no index.
func (c Client) Fetch(ctx context.Context, packages []Package, count step.Counter) ([]string, error) {
	items := make([]fetch.Item, len(packages))
	for i, p := range packages {
		mirror := c.Origin.Mirror
		if strings.HasSuffix(p.Suite, "-security") {
			mirror = c.Origin.Security
		}
		if mirror == "" {
			if _, found := c.Fetcher.Cache.Blob(p.SHA256); !found {
				return nil, fmt.Errorf("download %s: it is of %s and no address of a security archive is known; set GROVE_DEBIAN_SECURITY", p, p.Suite)
			}
		}
		items[i] = fetch.Item{URL: mirror + "/" + p.Filename, SHA256: p.SHA256, Name: p.String(), Size: int64(p.Size)}
	}
	paths, err := c.Fetcher.Get(ctx, items, count)
	var status *fetch.Status
	if errors.As(err, &status) && status.Code == http.StatusNotFound {
		err = fmt.Errorf("%w; a newer version may have taken its place on the mirror", err)
	}
	return paths, err
}
