package cpu

import (
	"strings"
	"testing"

	"grove/internal/spec"
)

func TestRule(t *testing.T) {
	board := func(name string, arch spec.Arch, features ...string) spec.Board {
		return spec.Board{Name: name, Arch: arch, CPU: features}
	}
	m4 := board("m4.4xlarge", spec.AMD64, "avx")
	atom := board("atom", spec.AMD64)
	pi4 := board("raspberry-pi-4", spec.ARM64, "armv8-a")
	graviton := board("m6g.4xlarge", spec.ARM64, "armv8.2-a")
	nano := board("pcduino3-nano", spec.ARMHF)

	for _, c := range []struct {
		name    string
		version string
		board   spec.Board
		want    []string // words of the finding; nil: it runs
	}{
		{"the demo on EC2", "6.0.5", m4, nil},
		{"8.0 on EC2", "8.0.11", m4, nil},
		{"the last without AVX on an Atom", "4.4.29", atom, nil},
		{"the first with AVX on an Atom", "5.0.0", atom, []string{"MongoDB 5.0.0 wants AVX", "atom", "4.4 is the last"}},
		{"a release candidate counts as its release", "5.0.0-rc1", atom, []string{"wants AVX"}},
		{"6.0 on a Raspberry Pi 4", "6.0.5", pi4, []string{"ARMv8.2-A", "raspberry-pi-4", "have armv8-a", "4.4.18 is the last"}},
		{"the last on a Raspberry Pi 4", "4.4.18", pi4, nil},
		{"4.4 changed late", "4.4.19", pi4, []string{"MongoDB 4.4.19 wants ARMv8.2-A", "4.4.18 is the last"}},
		{"4.2 before its late change", "4.2.23", pi4, nil},
		{"4.2 changed late as well", "4.2.24", pi4, []string{"wants ARMv8.2-A"}},
		{"8.0 on a Graviton2", "8.0.11", graviton, nil},
		{"arm64 before there was one", "3.2.22", graviton, []string{"no build for arm64", "3.4 is the first"}},
		{"the last for 32 bits", "3.2.22", nano, nil},
		{"3.0 on 32 bits", "3.0.8", nano, nil},
		{"the first that wants 64 bits", "3.4.0", nano, []string{"wants 64 bits", "pcduino3-nano", "armhf", "3.2 is the last"}},
		{"6.0 on 32 bits is one finding", "6.0.5", nano, []string{"wants 64 bits"}},
		{"features of another arch do not count", "6.0.5", board("odd", spec.ARM64, "avx"), []string{"ARMv8.2-A"}},
		{"two digits compare as numbers", "10.0.0", atom, []string{"wants AVX"}},
		{"no version is not judged", "latest", atom, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Rule(c.version, c.board)
			if (len(got) == 0) != (c.want == nil) || len(got) > 1 {
				t.Fatalf("got %q; want findings with %q", got, c.want)
			}
			for _, word := range c.want {
				if !strings.Contains(got[0], word) {
					t.Errorf("got %q; want it to say %q", got[0], word)
				}
			}
		})
	}
}
