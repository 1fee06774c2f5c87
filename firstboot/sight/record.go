package sight

import (
	"context"
	"html/template"
	"net/http"

	"grove/firstboot/recorder"
	"grove/firstboot/recorder/plot"
)

// Record keeps samples of what the node is busy with, on the state partition if there is one.
func (s *Site) Record(ctx context.Context) {
	mounted, known := s.State(ctx)
	if !known {
		return
	}
	r := recorder.New(recorder.Config{Root: s.Root, State: mounted, Now: s.Machine.Now, Uptime: s.Voice.Uptime, Node: s.Voice.On("recorder")})
	s.recorder.Store(r)
	r.Keep(ctx)
}

// plots is what the page shows of the samples.
func (s *Site) plots() template.HTML {
	now := s.Machine.Now()
	if r := s.recorder.Load(); r != nil {
		return plot.Draw(r.Points(), now)
	}
	return plot.Draw(nil, now)
}

// samples writes all of them, to one who asks at a time: it reads some MiB.
func (s *Site) samples() http.Handler {
	one := make(chan struct{}, 1)
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r := s.recorder.Load()
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
