package agent

import (
	"context"
	"encoding/json"
	"time"

	"grove/firstboot/metrics"
	"grove/firstboot/mongod"
	pages "grove/firstboot/page"
	"grove/firstboot/status"
)

// pageAgain is when a page whose port is taken is tried again.
const pageAgain = 10 * time.Second

func (a *Agent) openFigures() {
	a.figures = metrics.New(metrics.Config{Machine: a.Machine, Root: a.Root, Status: a.page.copy, Server: a.Server, Now: a.Machine.Now, Pushed: a.pushed})
}

// sight has the status page, once there are rules that keep strangers from it.
func (a *Agent) sight(ctx context.Context) {
	s, known := a.settings(ctx)
	if !known {
		return
	}
	if s.Status.Off || s.Status.Port == 0 { // 0: an image from before there was a page
		a.say("page", "the settings have no status page")
		return
	}
	if !a.guarded(ctx) {
		return
	}
	for ctx.Err() == nil {
		if err := a.show(ctx, s.Status.Port); ctx.Err() == nil && a.page.problem("page", err.Error()) {
			a.say("page", "%v; it is tried again every %s", err, pageAgain)
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
	a.page.problem("page", "")
	a.say("page", "the status page is at port %d, with /healthz, /status.json and /metrics", port)
	return pages.Serve(ctx, l, pages.Config{Status: a.page.copy, Log: a.logEnd, Now: a.Machine.Now, Metrics: metrics.Handler(a.figures), Samples: a.samples(), Plots: a.plots})
}

// logEnd is mongod's log, or what it printed if it has not begun one.
func (a *Agent) logEnd() string {
	for _, file := range []string{a.page.copy().Logs.Path, mongod.Output} {
		if file == "" {
			continue
		}
		if text, err := mongod.Tail(a.Root+file, pages.LogTail); err == nil && text != "" {
			return text
		}
	}
	return ""
}

// copy is the status as of now; none of its lists is the agent's own.
func (p *page) copy() (now status.Status) {
	p.mu.Lock()
	p.now.Updated, p.now.Agent.RSS = p.agent.uptime(), int64(p.agent.Machine.Resident(p.now.Agent.PID))
	data, err := json.Marshal(p.now)
	p.mu.Unlock()
	if err == nil {
		_ = json.Unmarshal(data, &now) // it is what Marshal has just made
	}
	return now
}
