package space

import "grove/internal/size"

// State of a file system.
type State string

// The states, from good to bad.
const (
	Roomy State = ""
	Low   State = "nearly full"
	Full  State = "full"
)

// What is still enough: a twentieth, and on small ones 64 MiB, which is what a mongod's new files need, or an eighth where that is less.
const (
	part      = 20
	small     = 64 * size.MiB
	smallPart = 8
	nothing   = size.MiB
)

// Judge decides, with what was: a state is left only when there is a quarter more than was too little, so that it does not come and go.
func Judge(was State, total, free size.Size) State {
	low, full := max(total/part, min(small, total/smallPart)), nothing
	if was != Roomy {
		low += low / 4
	}
	if was == Full {
		full += full / 4
	}
	switch {
	case free < full:
		return Full
	case free < low:
		return Low
	}
	return Roomy
}
