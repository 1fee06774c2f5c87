package fetch

import (
	"sync"

	"grove/internal/step"
)

// Tally lets several downloads share one counter: each has a part of its own, and the whole is the sum of the parts.
type Tally struct {
	mu    sync.Mutex
	whole step.Counter
	total int64
}

// NewTally counts on whole.
func NewTally(whole step.Counter) *Tally { return &Tally{whole: whole} }

// Part is a counter for one of the downloads.
func (t *Tally) Part() step.Counter { return &part{tally: t} }

type part struct {
	tally *Tally
	total int64
}

// Total see step.Counter.
func (p *part) Total(n int64) {
	p.tally.mu.Lock()
	defer p.tally.mu.Unlock()
	p.tally.total += n - p.total
	p.total = n
	p.tally.whole.Total(p.tally.total)
}

// Add see step.Counter.
func (p *part) Add(n int64) { p.tally.whole.Add(n) }
