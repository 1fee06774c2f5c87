package host

import (
	"fmt"
	"time"
)

// pretendedClock runs beside the test's own.
type pretendedClock struct {
	Skew time.Duration // of the fake's clock to the test's
	Turn []string      // what was done to it
}

// Now see Clock.
func (f *FakeMachine) Now() time.Time { defer f.lock()(); return time.Now().Add(f.Clock.Skew) }

// SetClock see Clock.
func (f *FakeMachine) SetClock(t time.Time) error {
	defer f.lock()()
	f.Clock.Skew = time.Until(t)
	f.Clock.Turn = append(f.Clock.Turn, "set to "+t.UTC().Format(time.DateTime))
	return nil
}

// SlewClock see Clock. The fake's is made up for at once.
func (f *FakeMachine) SlewClock(offset, _ time.Duration) error {
	defer f.lock()()
	f.Clock.Skew += offset
	f.Clock.Turn = append(f.Clock.Turn, fmt.Sprintf("slewed by %s", offset.Round(time.Millisecond)))
	return nil
}

// Turns is what was done to the clock since the last call.
func (f *FakeMachine) Turns() []string {
	defer f.lock()()
	done := f.Clock.Turn
	f.Clock.Turn = nil
	return done
}
