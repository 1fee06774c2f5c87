package report

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"grove/internal/size"
	"grove/internal/step"
)

// bars are the steps under way, one line each at the foot of the terminal. Finished lines scroll away above them.
type bars struct {
	group *mpb.Progress
	draw  chan any // a value draws everything once
	stop  chan struct{}
	idle  chan struct{}
	live  map[string]*bar
}

// nameWidth is what fits beside the counters in 80 columns.
const nameWidth = 44

func newBars(w io.Writer) *bars {
	b := &bars{draw: make(chan any), stop: make(chan struct{}), idle: make(chan struct{}), live: map[string]*bar{}}
	// Drawn when we say so: else a line written just before the end would be lost.
	b.group = mpb.New(mpb.WithOutput(w), mpb.ForceTTY(), mpb.WithManualRefresh(b.draw), mpb.WithWidth(80))
	go b.refresh()
	return b
}

func (b *bars) refresh() {
	defer close(b.idle)
	ticks := time.NewTicker(150 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case now := <-ticks.C:
			b.draw <- now
		case <-b.stop:
			return
		}
	}
}

// Write puts lines above the bars.
func (b *bars) Write(p []byte) (int, error) { return b.group.Write(p) }

func (b *bars) add(s step.Step) step.Counter {
	one := &bar{name: runewidth.Truncate(s.Name, nameWidth, "…"), start: time.Now()}
	drawn, err := b.group.Add(0, one.filler(), mpb.PrependDecorators(decor.Any(one.text)))
	if err != nil { // closed
		return step.Silent{}
	}
	one.drawn = drawn
	b.live[s.ID] = one
	return one
}

func (b *bars) drop(s step.Step) {
	if one := b.live[s.ID]; one != nil {
		one.drawn.Abort(true)
		delete(b.live, s.ID)
	}
}

func (b *bars) close() {
	close(b.stop)
	<-b.idle
	for _, one := range b.live {
		one.drawn.Abort(true)
	}
	// The first drawing shows the bars a last time and marks them as gone, the second shows what is left: the lines above.
	b.draw <- time.Now()
	b.draw <- time.Now()
	b.group.Shutdown()
}

// bar is a step.Counter.
type bar struct {
	name  string
	start time.Time
	drawn *mpb.Bar
	total atomic.Int64
	done  atomic.Int64
}

// Total and Add see step.Counter.
func (b *bar) Total(n int64) { b.total.Store(n) }
func (b *bar) Add(n int64)   { b.done.Add(n) }

func (b *bar) text(decor.Statistics) string {
	return fmt.Sprintf("  %s  %5.1f s  ", runewidth.FillRight(b.name, nameWidth), time.Since(b.start).Seconds()) + amount(b.done.Load(), b.total.Load())
}

// amount is how much of how much, as far as that is known.
func amount(done, total int64) string {
	switch {
	case total > 0:
		return fmt.Sprintf("%s of %s", size.Size(done).Short(), size.Size(total).Short())
	case done > 0:
		return size.Size(done).Short()
	}
	return ""
}

// filler draws the bar itself, where there is room for one and something to show.
func (b *bar) filler() mpb.BarFiller {
	drawn := mpb.BarStyle().Lbound(" [").Filler("=").Tip(">").Padding(" ").Rbound("]").Build()
	return mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error {
		total := b.total.Load()
		if total <= 0 {
			return nil
		}
		s.Total, s.Current = total, min(b.done.Load(), total)
		return drawn.Fill(w, s)
	})
}
