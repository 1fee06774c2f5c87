// Package cpu tells which MongoDB a board's processor can run. A build that asks too much would end on the board as a SIGILL with nobody watching.
//
// It knows MongoDB's own binaries; what somebody compiled for an older processor is refused as well, since nothing in a version says so. It decides from the
// words of the recipe and the board alone, so it can be asked before anything is downloaded.
package cpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"grove/internal/spec"
)

// The features that a board may name in cpu and that bear on mongod.
const (
	AVX     = "avx"
	ARMv8_2 = "armv8.2-a"
)

// Rule gives what keeps this version of mongod from running on the board, each with what would work; nothing when it runs. A version that is not
// three numbers is not judged: its form is another finding.
func Rule(version string, board spec.Board) []string {
	v, ok := parse(version)
	if !ok {
		return nil
	}
	switch board.Arch {
	case spec.ARMHF:
		return bits(v, version, board)
	case spec.AMD64:
		return avx(v, version, board)
	case spec.ARM64:
		return armv82(v, version, board)
	}
	return nil
}

// bits: 3.2 was the last series with 32-bit builds (release notes of 3.4).
func bits(v numbers, version string, board spec.Board) []string {
	if v.before(3, 4, 0) {
		return nil
	}
	return []string{fmt.Sprintf("MongoDB %s wants 64 bits, %s is a 32-bit board (%s); 3.2 is the last series for 32 bits", version, board.Name, board.Arch)}
}

// avx: MongoDB's production notes for 5.0, "x86_64", and docker-library/mongo#485.
func avx(v numbers, version string, board spec.Board) []string {
	if v.before(5, 0, 0) || slices.Contains(board.CPU, AVX) {
		return nil
	}
	return []string{fmt.Sprintf("MongoDB %s wants AVX, which %s does not name in cpu%s; 4.4 is the last series that runs without AVX", version, board.Name, has(board))}
}

// armv82: 5.0 from its start; 4.4.19 and 4.2.24 by a late change of the compiler's flags (SERVER-71772, docker-library/mongo#510, #610). The Raspberry
// Pi 4 (Cortex-A72, ARMv8-A) is the board that people fall over. There is no arm64 build before 3.4.
func armv82(v numbers, version string, board spec.Board) []string {
	if v.before(3, 4, 0) {
		return []string{fmt.Sprintf("MongoDB %s has no build for arm64, which %s is; 3.4 is the first that does", version, board.Name)}
	}
	late := v.before(5, 0, 0) && !v.before(4, 4, 19) || v.before(4, 4, 0) && !v.before(4, 2, 24)
	if v.before(5, 0, 0) && !late || slices.Contains(board.CPU, ARMv8_2) {
		return nil
	}
	return []string{fmt.Sprintf("MongoDB %s wants ARMv8.2-A, which %s does not name in cpu%s; 4.4.18 is the last that runs on ARMv8-A", version, board.Name, has(board))}
}

func has(board spec.Board) string {
	if len(board.CPU) == 0 {
		return ""
	}
	return fmt.Sprintf(" (have %s)", strings.Join(board.CPU, ", "))
}

type numbers [3]int

// parse reads 6.0.5 and 6.0.5-rc1; a release candidate asks for what its release does.
func parse(version string) (v numbers, ok bool) {
	release, _, _ := strings.Cut(version, "-")
	parts := strings.Split(release, ".")
	if len(parts) != len(v) {
		return v, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

func (v numbers) before(major, minor, patch int) bool {
	return slices.Compare(v[:], []int{major, minor, patch}) < 0
}
