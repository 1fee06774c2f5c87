package rotate

import (
	"time"

	"grove/internal/size"
	"grove/internal/spec"
)

// Due decides whether a log is put aside: it was begun on another day or in another hour, by UTC, or it is long. began is the zero time when its first line has none. An
// empty one never is.
func Due(now, began time.Time, length size.Size, want spec.Logs) bool {
	switch {
	case length == 0:
		return false
	case want.Size > 0 && length >= want.Size:
		return true
	case began.IsZero():
		return false
	case want.Rotate == "daily":
		return !began.UTC().Truncate(24 * time.Hour).Equal(now.UTC().Truncate(24 * time.Hour))
	case want.Rotate == "hourly":
		return !began.UTC().Truncate(time.Hour).Equal(now.UTC().Truncate(time.Hour))
	}
	return false
}
