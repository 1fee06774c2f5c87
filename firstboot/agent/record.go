package agent

import (
	"context"
	"html/template"
	"net/http"

	"grove/firstboot/recorder"
	"grove/firstboot/recorder/plot"
)

// record keeps samples of what the node is busy with, on the state partition if there is one.
func (a *Agent) record(ctx context.Context) {
	mounted, known := a.hasState(ctx)
	if !known {
		return
	}
	r := recorder.New(recorder.Config{Root: a.Root, State: mounted, Now: a.Machine.Now, Uptime: a.voice.Uptime, Node: a.voice.On("recorder")})
	a.recorder.Store(r)
	r.Keep(ctx)
}

// plots is what the page shows of the samples.
func (a *Agent) plots() template.HTML {
	now := a.Machine.Now()
	if r := a.recorder.Load(); r != nil {
		return plot.Draw(r.Points(), now)
	}
	return plot.Draw(nil, now)
}

// samples writes all of them, to one who asks at a time: it reads some MiB.
func (a *Agent) samples() http.Handler {
	one := make(chan struct{}, 1)
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r := a.recorder.Load()
		if r == nil {
			http.Error(w, "the state partition is not mounted yet", http.StatusServiceUnavailable)
			return
		}
		select {
		case one <- struct{}{}:
		case <-q.Context().Done():
			return
		}
		defer func() { <-one }()
		w.Header().Set("Content-Type", "application/json")
		_ = r.WriteJSON(w) // who is gone needs no answer
	})
}
