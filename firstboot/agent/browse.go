package agent

import (
	"context"
	"strings"
	"time"

	"grove/firstboot/browse"
	"grove/firstboot/status"
	"grove/internal/settings"
)

// browseAgain is when a page for the data that could not be opened is tried again.
const browseAgain = 30 * time.Second

// browse has the page for the data on the loopback address, if the settings ask for it.
func (a *Agent) browse(ctx context.Context) {
	s, known := a.settings(ctx)
	if !known || !s.Status.Browse {
		return
	}
	c := browse.Config{Node: func() string { return a.voice.Status().Node }, Mongod: func() int { return a.voice.Status().Mongod.Port }}
	for {
		err := browse.Serve(ctx, settings.BrowsePort, c, func(address string) {
			a.voice.Problem("browse", "")
			a.voice.Page(func(p *status.Status) { p.Browse = address })
			_, port, _ := strings.Cut(address, ":")
			a.voice.Say("browse", "mongod's users see the data on http://localhost:%s, reached by ssh -L %s:%s root@NODE", port, port, address)
		})
		if ctx.Err() != nil {
			return
		}
		a.voice.Page(func(p *status.Status) { p.Browse = "" })
		if a.voice.Problem("browse", "the page for the data: "+err.Error()) {
			a.voice.Say("browse", "the page for the data: %v; it is tried again", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(browseAgain):
		}
	}
}
