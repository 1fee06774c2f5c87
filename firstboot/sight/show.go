package sight

import (
	"context"
	"time"

	"grove/firstboot/metrics"
	"grove/firstboot/mongod"
	pages "grove/firstboot/page"
	"grove/internal/spec"
)

// pageAgain is when a page whose port is taken is tried again.
const pageAgain = 10 * time.Second

// Open comes before all else.
func (s *Site) Open() {
	s.figures = metrics.New(metrics.Config{Machine: s.Machine, Root: s.Root, Status: s.Voice.Copy, Server: s.Server, Now: s.Machine.Now, Pushed: s.pushed})
}

// Show has the status page, once there are rules that keep strangers from it.
func (s *Site) Show(ctx context.Context, want spec.Page) {
	if want.Off || want.Port == 0 { // 0: an image from before there was a page
		s.Voice.Say("page", "the settings have no status page")
		return
	}
	if !s.Stands(ctx) {
		return
	}
	for ctx.Err() == nil {
		if err := s.show(ctx, want.Port); ctx.Err() == nil && s.Voice.Problem("page", err.Error()) {
			s.Voice.Say("page", "%v; it is tried again every %s", err, pageAgain)
		}
		select {
		case <-time.After(pageAgain):
		case <-ctx.Done():
		}
	}
}

func (s *Site) show(ctx context.Context, port int) error {
	l, err := s.Listen(port)
	if err != nil {
		return err
	}
	s.Voice.Problem("page", "")
	s.Voice.Say("page", "the status page is at port %d, with /healthz, /status.json and /metrics", port)
	return pages.Serve(ctx, l, pages.Config{Status: s.Voice.Copy, Log: s.logEnd, Now: s.Machine.Now, Metrics: metrics.Handler(s.figures), Samples: s.samples(), Plots: s.plots})
}

// logEnd is mongod's log, or what it printed if it has not begun one.
func (s *Site) logEnd() string {
	for _, file := range []string{s.Voice.Copy().Logs.Path, mongod.Output} {
		if file == "" {
			continue
		}
		if text, err := mongod.Tail(s.Root+file, pages.LogTail); err == nil && text != "" {
			return text
		}
	}
	return ""
}
