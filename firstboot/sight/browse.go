package sight

import (
	"context"
	"strings"
	"time"

	"grove/firstboot/browse"
	"grove/firstboot/status"
	"grove/internal/settings"
	"grove/internal/spec"
)

// browseAgain is when a page for the data that could not be opened is tried again.
const browseAgain = 30 * time.Second

// Browse has the page for the data on the loopback address, if the settings ask for it.
func (s *Site) Browse(ctx context.Context, want spec.Page) {
	if !want.Browse {
		return
	}
	c := browse.Config{Node: func() string { return s.Voice.Status().Node }, Mongod: func() int { return s.Voice.Status().Mongod.Port }}
	for {
		err := browse.Serve(ctx, settings.BrowsePort, c, func(address string) {
			s.Voice.Problem("browse", "")
			s.Voice.Page(func(p *status.Status) { p.Browse = address })
			_, port, _ := strings.Cut(address, ":")
			s.Voice.Say("browse", "mongod's users see the data on http://localhost:%s, reached by ssh -L %s:%s root@NODE", port, port, address)
		})
		if ctx.Err() != nil {
			return
		}
		s.Voice.Page(func(p *status.Status) { p.Browse = "" })
		if s.Voice.Problem("browse", "the page for the data: "+err.Error()) {
			s.Voice.Say("browse", "the page for the data: %v; it is tried again", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(browseAgain):
		}
	}
}
