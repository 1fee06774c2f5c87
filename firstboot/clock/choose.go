package clock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Sample is what one server said.
type Sample struct {
	Server  string
	Offset  time.Duration // to be added to the node's clock
	Error   time.Duration // how far that may be wrong at the most: the root distance of RFC 5905
	Stratum int
	Refused error // why it is not taken: no answer, not synchronized itself, too uncertain, it wants not to be asked
}

// Verdict is what the servers agree on.
type Verdict struct {
	Offset  time.Duration
	Server  string // whose answer was taken
	Stratum int
	Agree   int // servers
}

// Choose takes the middle one of the largest group of servers whose answers can all be true at once. It must be more than half of those that answered: of two that
// differ nobody knows which is right.
func Choose(samples []Sample) (Verdict, error) {
	var good []Sample
	for _, s := range samples {
		if s.Refused == nil {
			good = append(good, s)
		}
	}
	if len(good) == 0 {
		return Verdict{}, errors.New(strings.Join(poor(samples), ", "))
	}
	var group []Sample
	for _, s := range good {
		if near := with(s, good); len(near) > len(group) {
			group = near
		}
	}
	if 2*len(group) <= len(good) {
		return Verdict{}, errors.New("the servers differ: " + offsets(good))
	}
	slices.SortFunc(group, func(a, b Sample) int { return int(a.Offset - b.Offset) })
	middle := group[(len(group)-1)/2]
	return Verdict{middle.Offset, middle.Server, middle.Stratum, len(group)}, nil
}

// with are the samples that can be true if this one is.
func with(s Sample, all []Sample) (near []Sample) {
	for _, t := range all {
		if (s.Offset - t.Offset).Abs() <= s.Error+t.Error {
			near = append(near, t)
		}
	}
	return near
}

func offsets(samples []Sample) string {
	var words []string
	for _, s := range samples {
		words = append(words, fmt.Sprintf("%s says %+.3f s", s.Server, s.Offset.Seconds()))
	}
	return strings.Join(words, ", ")
}

// Act is what an offset calls for.
type Act string

// The acts. Wait is for a second answer before a clock is stepped under programs that run.
const (
	Step Act = "step"
	Slew Act = "slew"
	Wait Act = "wait"
)

// The kernel makes up for slews within a quarter of an hour; for steps, at 500 ppm, it would take hours.
const (
	slews = 500 * time.Millisecond
	steps = 10 * time.Second
)

// Decide says what to do: at the first answer since the agent's start the clock is stepped if it is off by more than half a second; later only by more than ten, and
// when a second answer says the same. far is the offset that the last answer waited with, 0 if it did not.
func Decide(offset time.Duration, first bool, far time.Duration) Act {
	switch {
	case offset.Abs() <= slews:
		return Slew
	case first:
		return Step
	case offset.Abs() <= steps:
		return Slew
	case far != 0 && (offset-far).Abs() <= slews:
		return Step
	}
	return Wait
}
