// Package voice is how the agent speaks: a line on the console for what happens, the status page for what is, and there one sentence about each thing that is wrong.
//
// The parts of the agent change the page each from its own goroutine. Every change is written at once, best effort: the page is a file in RAM, and a node that can't write there
// has other troubles.
package voice

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"grove/firstboot/status"
	"grove/internal/host"
	"grove/internal/spec"
)

// Voice is one agent's. Root stands before the page's path, empty but in tests.
type Voice struct {
	Machine host.Machine
	Root    string
	Console io.Writer

	mu       sync.Mutex
	now      status.Status
	problems map[string]string // by what they are about; one each
}

// Say puts one line on the console.
func (v *Voice) Say(topic, format string, values ...any) {
	fmt.Fprintln(v.Console, spec.Line{Uptime: v.Machine.Uptime().Seconds(), Topic: topic, Text: fmt.Sprintf(format, values...)})
}

// Page changes the status.
func (v *Voice) Page(change func(*status.Status)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change(&v.now)
	v.write()
}

// Problem sets the sentence about one thing, "" takes it away. It says whether that is news.
func (v *Voice) Problem(about, sentence string) (news bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.problems[about] == sentence {
		return false
	}
	if v.problems == nil {
		v.problems = map[string]string{}
	}
	v.problems[about] = sentence
	if sentence == "" {
		delete(v.problems, about)
	}
	v.write()
	return true
}

// Wrong is the sentence about one thing, empty when there is none.
func (v *Voice) Wrong(about string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.problems[about]
}

func (v *Voice) write() {
	v.now.Problems = nil
	for _, about := range slices.Sorted(maps.Keys(v.problems)) {
		v.now.Problems = append(v.now.Problems, about+": "+v.problems[about])
	}
	v.touch()
	_ = status.Write(v.Root+status.File, v.now)
}

func (v *Voice) touch() {
	v.now.Updated, v.now.Agent.RSS = v.Uptime(), int64(v.Machine.Resident(v.now.Agent.PID))
}

// Uptime is the node's, in seconds, as the page has it.
func (v *Voice) Uptime() float64 { return float64(v.Machine.Uptime().Milliseconds()) / 1000 }

// Status is the page as it was written last. Its lists are the agent's own.
func (v *Voice) Status() status.Status {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// Copy is the status as of now; none of its lists is the agent's own.
func (v *Voice) Copy() (now status.Status) {
	v.mu.Lock()
	v.touch()
	data, err := json.Marshal(v.now)
	v.mu.Unlock()
	if err == nil {
		_ = json.Unmarshal(data, &now) // it is what Marshal has just made
	}
	return now
}

// Tongue is the voice of a part that speaks of one topic.
type Tongue struct {
	*Voice
	topic string
}

// On gives the voice about a topic.
func (v *Voice) On(topic string) Tongue { return Tongue{v, topic} }

// Say puts a line on the console.
func (t Tongue) Say(format string, values ...any) { t.Voice.Say(t.topic, format, values...) }
