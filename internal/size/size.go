// Package size is a number of bytes that is written the way people write it: 512MiB, 4GiB.
//
// Only binary units are taken (KiB, MiB, GiB, TiB and a plain B): a disk layout that rounds 4 GB one way and 4 GiB another
// loses its last partition. A bare number is refused, except 0.
package size

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, 0 to 8 EiB less one.
type Size int64

// The units, in bytes.
const (
	B   Size = 1
	KiB      = 1024 * B
	MiB      = 1024 * KiB
	GiB      = 1024 * MiB
	TiB      = 1024 * GiB
)

var units = []struct {
	name string
	size Size
}{{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}, {"B", B}}

// Parse reads a whole number with its unit, such as 512MiB; 0 needs no unit.
func Parse(s string) (Size, error) {
	if s == "0" {
		return 0, nil
	}
	for _, u := range units {
		digits, found := strings.CutSuffix(s, u.name)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/int64(u.size) {
			break
		}
		return Size(n) * u.size, nil
	}
	return 0, fmt.Errorf("want a size such as 512MiB or 4GiB, have %q", s)
}

// String writes the size in the largest unit that keeps it whole, so that Parse reads the same number back.
func (s Size) String() string {
	if s == 0 {
		return "0"
	}
	for _, u := range units {
		if s%u.size == 0 {
			return strconv.FormatInt(int64(s/u.size), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// Short rounds to three digits for a person: 40.2 MiB. Parse does not read it back.
func (s Size) Short() string {
	for _, u := range units {
		if s >= u.size && u.size > B {
			return fmt.Sprintf("%.3g %s", math.Min(float64(s)/float64(u.size), 1023), u.name)
		}
	}
	return fmt.Sprintf("%d B", int64(s))
}

// Up rounds up to a multiple of unit, which is larger than 0.
func (s Size) Up(unit Size) Size { return (s + unit - 1) / unit * unit }

// MarshalText writes String, for YAML and JSON.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what Parse reads.
func (s *Size) UnmarshalText(text []byte) (err error) {
	*s, err = Parse(string(text))
	return err
}
