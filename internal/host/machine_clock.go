package host

import (
	"fmt"
	"math/bits"
	"time"

	"golang.org/x/sys/unix"
)

// Clock is the system's, in UTC.
type Clock interface {
	Now() time.Time
	// SetClock steps it to a time.
	SetClock(t time.Time) error
	// SlewClock has the kernel make up for an offset, which is added, little by little: half a second of it at most. It keeps what it learns of the clock's rate, and counts
	// the clock as synchronized, after which it sets the hardware's clock, if there is one, by it. poll is how often it is told.
	SlewClock(offset, poll time.Duration) error
}

// Now see Clock.
func (Real) Now() time.Time { return time.Now() }

// SetClock see Clock.
func (Real) SetClock(t time.Time) error {
	v := unix.NsecToTimeval(t.UnixNano())
	if err := unix.Settimeofday(&v); err != nil {
		return fmt.Errorf("set the clock to %s: %w", t.UTC().Format(time.DateTime), err)
	}
	return nil
}

// SlewClock see Clock. These are the kernel's phase-locked loop and systemd-timesyncd's time constant for it (src/timesync/timesyncd-manager.c).
func (Real) SlewClock(offset, poll time.Duration) error {
	const most = 500 * time.Millisecond // MAXPHASE of linux/timex.h
	offset = max(-most, min(offset, most))
	t := unix.Timex{Modes: unix.ADJ_STATUS | unix.ADJ_NANO | unix.ADJ_OFFSET | unix.ADJ_TIMECONST | unix.ADJ_MAXERROR | unix.ADJ_ESTERROR, Status: unix.STA_PLL}
	long(&t.Offset, offset.Nanoseconds())
	long(&t.Constant, int64(max(bits.Len(uint(poll/time.Second))-6, 0)))
	if _, err := unix.Adjtimex(&t); err != nil {
		return fmt.Errorf("slew the clock by %s: %w", offset, err)
	}
	return nil
}

// long sets a C long, which is as wide as the machine.
func long[T int32 | int64](field *T, value int64) { *field = T(value) }
