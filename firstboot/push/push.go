// Package push sends a node's metrics to where somebody keeps them, by Prometheus remote write 1.0 (https://prometheus.io/docs/specs/prw/remote_write_spec/): snappy and
// protobuf over HTTP, through an HTTP proxy if there is one in between. It is for networks out of which a node can call, and into which no Prometheus can.
//
// Figures are taken once a minute and wait in a queue of at most 1 MiB, about an hour, of which the oldest go first; they go out in order, one request at a time. A receiver
// that is not there, or too busy, is tried again ever more seldom; what it refuses is dropped, as it would refuse it again. Nothing is taken while the node does not know the
// date: a sample of 1970 is refused, and one of a guess is wrong. Certificates are checked by the system's authorities and Mozilla's, which come with the program.
//
// It never sends histograms and summaries: the node has none.
package push

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config is what is sent where.
type Config struct {
	URL    string
	Proxy  string // empty: none
	Gather prometheus.Gatherer
	Labels func() map[string]string // of every series: instance, job
	Ready  func() bool              // the node knows the date and its name
	Now    func() time.Time
	Tell   func(Event)
}

// Event is news of the sending; what goes on as before is none.
type Event struct {
	Kind Kind
	Why  string
}

// Kind of an event.
type Kind int

// The kinds.
const (
	Taken    Kind = iota // by the receiver, for the first time or again
	Failing              // and tried again
	Refused              // and dropped
	Overflow             // the oldest are dropped
)

// Pusher sends.
type Pusher struct {
	config Config
	client *http.Client
	news   chan struct{} // something is in the queue

	mu            sync.Mutex
	queue         []batch
	bytes         int // of the queue
	sent, dropped int // samples
	last          Event
	told          bool // last is one
	overflows     bool
}

// batch is what one request sends: the encoded figures of one moment.
type batch struct {
	number  int
	samples int
	body    []byte
}

const (
	every     = time.Minute
	ask       = 2 * time.Second // whether the node is ready
	mostBytes = 1 << 20
)

// New checks nothing of the addresses: the settings are checked before they come here.
func New(c Config) (*Pusher, error) {
	client, err := newClient(c.URL, c.Proxy)
	return &Pusher{config: c, client: client, news: make(chan struct{}, 1)}, err
}

// Counts are samples by what became of them.
func (p *Pusher) Counts() map[string]float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return map[string]float64{"sent": float64(p.sent), "dropped": float64(p.dropped)}
}

// Run works until ctx ends. What waits then is lost.
func (p *Pusher) Run(ctx context.Context) {
	var sending sync.WaitGroup
	sending.Go(func() { p.send(ctx) })
	defer sending.Wait()
	for number := 1; ; {
		wait := ask
		if p.config.Ready() {
			p.take(number)
			number, wait = number+1, every
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// take puts the figures of now into the queue. Those that could be had count, whatever is wrong with others.
func (p *Pusher) take(number int) {
	families, err := p.config.Gather.Gather()
	body, samples := encode(families, p.config.Labels(), p.config.Now())
	if samples == 0 {
		if err != nil {
			p.tell(Event{Failing, err.Error()})
		}
		return
	}
	p.mu.Lock()
	p.queue, p.bytes = append(p.queue, batch{number, samples, body}), p.bytes+len(body)
	full := false
	for p.bytes > mostBytes && len(p.queue) > 1 {
		full = true
		p.drop()
	}
	p.mu.Unlock()
	if full {
		p.tell(Event{Overflow, "the receiver was away for too long"})
	}
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// drop takes the first batch away; it is called locked.
func (p *Pusher) drop() {
	p.dropped += p.queue[0].samples
	p.remove()
}

func (p *Pusher) remove() {
	p.bytes -= len(p.queue[0].body)
	p.queue[0] = batch{}
	p.queue = p.queue[1:]
}

// first waits for a batch. It stays in the queue until it is done with.
func (p *Pusher) first(ctx context.Context) (batch, bool) {
	for {
		p.mu.Lock()
		if len(p.queue) > 0 {
			b := p.queue[0]
			p.mu.Unlock()
			return b, true
		}
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return batch{}, false
		case <-p.news:
		}
	}
}

// done ends a batch. One that was dropped meanwhile as the oldest of too many is counted as that, even if it has come through after all.
func (p *Pusher) done(b batch, taken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 || p.queue[0].number != b.number {
		return
	}
	if !taken {
		p.drop()
		return
	}
	p.sent += b.samples
	p.remove()
}

// tell tells what is not as it was told last. That the queue overflows is told once until something is taken again.
func (p *Pusher) tell(e Event) {
	p.mu.Lock()
	var news bool
	if e.Kind == Overflow {
		news, p.overflows = !p.overflows, true
	} else {
		news = !p.told || e != p.last
		p.last, p.told = e, true
		p.overflows = p.overflows && e.Kind != Taken
	}
	p.mu.Unlock()
	if news {
		p.config.Tell(e)
	}
}
