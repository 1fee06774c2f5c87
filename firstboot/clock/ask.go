package clock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/beevik/ntp"
)

// Bounds of an answer that is worth taking. Sure is how sure none is: two clocks, each read by a program that may be waiting for its processor.
const (
	uncertain = time.Second
	sure      = 5 * time.Millisecond
)

// Ask asks one server, a name or an address, with a port if it is not NTP's.
func Ask(ctx context.Context, server string) Sample {
	var asked ntp.QueryOptions
	if end, has := ctx.Deadline(); has {
		asked.Timeout = time.Until(end)
	}
	asked.Dialer = func(_, remote string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", remote)
	}
	type answer struct {
		got *ntp.Response
		err error
	}
	came := make(chan answer, 1)
	go func() {
		got, err := ntp.QueryWithOptions(server, asked)
		came <- answer{got, err}
	}()
	select {
	case a := <-came:
		return read(server, a.got, a.err)
	case <-ctx.Done():
		return Sample{Server: server, Refused: context.Cause(ctx)}
	}
}

func read(server string, got *ntp.Response, err error) Sample {
	s := Sample{Server: server}
	if err != nil {
		var slow net.Error
		if s.Refused = err; errors.As(err, &slow) && slow.Timeout() {
			s.Refused = fmt.Errorf("no answer within %s", answers)
		}
		return s
	}
	s.Offset, s.Stratum, s.Error = got.ClockOffset, int(got.Stratum), max(got.RootDistance, sure)
	switch err := got.Validate(); {
	case got.KissCode != "":
		s.Refused = fmt.Errorf("it wants not to be asked (%s)", got.KissCode)
	case got.Leap == ntp.LeapNotInSync:
		s.Refused = errors.New("it has no time itself")
	case err != nil:
		s.Refused = err
	case s.Error > uncertain:
		s.Refused = fmt.Errorf("it may be wrong by %s", s.Error.Round(time.Millisecond))
	}
	return s
}
