package qemu

// filter takes terminal control out of a byte stream, also when a sequence is cut in two: escape sequences (ECMA-48: ESC, then one byte, or `[` and parameters up to a byte
// of 0x40 to 0x7e) and every control byte but newline and tab.
type filter struct{ state int }

const (
	plain = iota
	escaped
	parameters
	command // of the operating system: ESC ] up to BEL, or to the ESC of ESC \
)

func (f *filter) clean(in []byte) []byte {
	var out []byte
	for _, b := range in {
		switch {
		case b == 0x1b:
			f.state = escaped
		case f.state == plain:
			if b >= 0x20 && b != 0x7f || b == '\n' || b == '\t' {
				out = append(out, b)
			}
		case f.state == escaped && b == '[':
			f.state = parameters
		case f.state == escaped && b == ']':
			f.state = command
		case f.state == escaped && b >= 0x20 && b <= 0x2f: // ESC ( B: one more follows
		case f.state == escaped,
			f.state == parameters && b >= 0x40 && b <= 0x7e,
			f.state == command && b == 0x07:
			f.state = plain
		}
	}
	return out
}
