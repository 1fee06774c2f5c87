package agent

import (
	"context"
	"time"

	"grove/firstboot/metrics"
	"grove/firstboot/mongod"
	pages "grove/firstboot/page"
)

// pageAgain is when a page whose port is taken is tried again.
const pageAgain = 10 * time.Second

func (a *Agent) openFigures() {
	a.figures = metrics.New(metrics.Config{Machine: a.Machine, Root: a.Root, Status: a.voice.Copy, Server: a.Server, Now: a.Machine.Now, Pushed: a.pushed})
}

// sight has the status page, once there are rules that keep strangers from it.
func (a *Agent) sight(ctx context.Context) {
	s, known := a.settings(ctx)
	if !known {
		return
	}
	if s.Status.Off || s.Status.Port == 0 { // 0: an image from before there was a page
		a.voice.Say("page", "the settings have no status page")
		return
	}
	if !a.wall.Stands(ctx) {
		return
	}
	for ctx.Err() == nil {
		if err := a.show(ctx, s.Status.Port); ctx.Err() == nil && a.voice.Problem("page", err.Error()) {
			a.voice.Say("page", "%v; it is tried again every %s", err, pageAgain)
		}
		select {
		case <-time.After(pageAgain):
		case <-ctx.Done():
		}
	}
}

func (a *Agent) show(ctx context.Context, port int) error {
	l, err := a.Listen(port)
	if err != nil {
		return err
	}
	a.voice.Problem("page", "")
	a.voice.Say("page", "the status page is at port %d, with /healthz, /status.json and /metrics", port)
	return pages.Serve(ctx, l, pages.Config{Status: a.voice.Copy, Log: a.logEnd, Now: a.Machine.Now, Metrics: metrics.Handler(a.figures), Samples: a.samples(), Plots: a.plots})
}

// logEnd is mongod's log, or what it printed if it has not begun one.
func (a *Agent) logEnd() string {
	for _, file := range []string{a.voice.Copy().Logs.Path, mongod.Output} {
		if file == "" {
			continue
		}
		if text, err := mongod.Tail(a.Root+file, pages.LogTail); err == nil && text != "" {
			return text
		}
	}
	return ""
}
