// Package proc reads which block devices are mounted and swapped to.
package proc

import (
	"fmt"
	"os"
	"strings"
)

// Mount is a mounted file system of a block device.
type Mount struct{ Dev, Kernel, Target, Type, Options string }

// Mounts reads /proc/self/mountinfo (proc(5)), which names a device by its number: the name in /proc/mounts is what the one who mounted it said. numbers are the kernel's names by these numbers.
//
//	36 35 254:3 / /usr ro,nosuid - squashfs /dev/vda3 ro,errors=continue
func Mounts(root string, numbers map[string]string) ([]Mount, error) {
	data, err := os.ReadFile(root + "/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("look for mounts: %w", err)
	}
	var all []Mount
	for line := range strings.Lines(string(data)) {
		left, right, found := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !found || len(l) < 6 || len(r) < 3 || !strings.HasPrefix(r[1], "/dev/") && numbers[l[2]] == "" {
			continue
		}
		all = append(all, Mount{Dev: unescape(r[1]), Kernel: numbers[l[2]], Target: unescape(l[4]), Type: r[0], Options: l[5] + "," + r[2]})
	}
	return all, nil
}

// Swaps reads /proc/swaps; a kernel without swap has none.
func Swaps(root string) (all []string, err error) {
	data, err := os.ReadFile(root + "/proc/swaps")
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("look for swap: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) > 1 && strings.HasPrefix(words[0], "/") {
			all = append(all, unescape(words[0]))
		}
	}
	return all, nil
}

// unescape undoes the kernel's mangle_path: \040 is a space.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
