package boot

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"grove/internal/spec"
)

// fatal are the words after which no boot goes on, with what they mean.
var fatal = []struct{ words, means string }{
	{"Kernel panic - not syncing", "kernel panic"},
	{"No bootable device.", "the BIOS found nothing to boot"},
	{"No bootable option or device was found", "the UEFI firmware found nothing to boot"},
	{"UEFI Interactive Shell", "the UEFI firmware found nothing to boot"},
	{"grub rescue>", "the boot loader did not find its files"},
	{"error: you need to load the kernel first", "the boot loader could not load the kernel"},
}

// halfPatched is what the kernel says when a processor ran code that another had just patched: it put int3 (a breakpoint) there for the time of the change, and took it away
// again after every processor had confirmed (arch/x86/kernel/alternative.c, text_poke_bp_batch). On a real one nobody meets the breakpoint then; under TCG one of some 50
// boots on a crowded machine does, at the third second, by QEMU 7.2. It is the emulator's fault, not the image's.
const halfPatched = "Oops: int3: "

// faultIn tells whether a line of the console is the end of a boot: what it means and the line, or "".
func faultIn(line string) string {
	for _, f := range fatal {
		if at := strings.Index(line, f.words); at >= 0 {
			return fmt.Sprintf("%s: %s", f.means, strings.TrimSpace(line[at:]))
		}
	}
	return ""
}

// late tells whether a boot that is not done should be given up.
func late(running, silent time.Duration, limit Limits, last string) error {
	switch {
	case silent > limit.Silence:
		return fmt.Errorf("nothing on the console for %.0f s; last: %q", silent.Seconds(), last)
	case running > limit.Boot:
		return fmt.Errorf("mongod does not answer %.0f s after QEMU's start; last on the console: %q", running.Seconds(), last)
	}
	return nil
}

// orderly tells whether a node stopped as it should: it said so on its console, and it was the guest that ended the machine.
func orderly(lines []spec.Line, reason, want string) error {
	stopping := slices.ContainsFunc(lines, func(l spec.Line) bool { return l.Topic == "stop" })
	switch {
	case !stopping:
		return errors.New("the console has no line of an ordered stop")
	case reason != want:
		return fmt.Errorf("QEMU ended by %q, want %s", reason, want)
	}
	return nil
}
