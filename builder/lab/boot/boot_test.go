package boot

import (
	"errors"
	"strings"
	"testing"
	"time"

	"grove/internal/spec"
)

const s = time.Second

func TestTimesComeFromConsoleLines(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		at    []time.Duration
		want  Times
	}{
		{"nothing said", nil, nil, Times{}},
		{"init, then mongod", []string{"grove 4.10 init: hello", "grove 5.00 mongod: starts", "grove 9.00 mongod: waits"}, []time.Duration{12 * s, 13 * s, 17 * s},
			Times{Kernel: 7900 * time.Millisecond, Init: 12 * s, Mongod: 13 * s}},
		{"a clock that is ahead of QEMU's", []string{"grove 4.10 init: hello"}, []time.Duration{3 * s}, Times{Init: 3 * s}},
	} {
		b := New("guest-shutdown")
		for i, text := range c.lines {
			b.Hear(c.at[i], text)
		}
		if got := b.Facts().Times; got != c.want {
			t.Errorf("%s: got %+v; want %+v", c.name, got, c.want)
		}
	}
}

func TestTimesSayWhereTheTimeWent(t *testing.T) {
	for _, c := range []struct {
		times Times
		want  string
	}{
		{Times{8 * s, 12 * s, 13 * s, 18 * s}, "18.0 s: 8.0 firmware and boot loader, 4.0 kernel, 1.0 init, 5.0 mongod"},
		{Times{Kernel: 8 * s, Init: 12 * s, Answer: 18 * s}, "18.0 s: 8.0 firmware and boot loader, 4.0 kernel, 6.0 mongod"},
		{Times{Kernel: 8 * s, Init: 12 * s}, "12.0 s: 8.0 firmware and boot loader, 4.0 kernel"},
		{Times{}, "no mark reached"},
	} {
		if got := c.times.String(); got != c.want {
			t.Errorf("%+v: got %q; want %q", c.times, got, c.want)
		}
	}
}

func TestFaultsAreFoundInLines(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"[    5.1] Kernel panic - not syncing: VFS: Unable to mount root fs", "kernel panic: Kernel panic - not syncing: VFS: Unable to mount root fs"},
		{"No bootable device.  Retrying in 1 seconds.", "the BIOS found nothing to boot: No bootable device.  Retrying in 1 seconds."},
		{"BdsDxe: No bootable option or device was found.", "the UEFI firmware found nothing to boot: No bootable option or device was found."},
		{"UEFI Interactive Shell v2.2", "the UEFI firmware found nothing to boot: UEFI Interactive Shell v2.2"},
		{"grub rescue> ", "the boot loader did not find its files: grub rescue>"},
		{"error: you need to load the kernel first.", "the boot loader could not load the kernel: error: you need to load the kernel first."},
		{"grove 9.0 mongod: 6.0.5 answers", ""},
		{"random: crng init done", ""},
	} {
		if got := faultIn(c.line); got != c.want {
			t.Errorf("%s: got %q; want %q", c.line, got, c.want)
		}
	}
}

func TestLateness(t *testing.T) {
	limit := Limits{Boot: 120 * s, Silence: 60 * s}
	for _, c := range []struct {
		name            string
		running, silent time.Duration
		want            string
	}{
		{"under way", 100 * s, 59 * s, ""},
		{"silent", 100 * s, 61 * s, `nothing on the console for 61 s; last: "here"`},
		{"late", 121 * s, s, `mongod does not answer 121 s after QEMU's start; last on the console: "here"`},
	} {
		err := late(c.running, c.silent, limit, "here")
		if got := text(err); got != c.want {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAStopIsOrderlyOrNot(t *testing.T) {
	said := []spec.Line{{Uptime: 1, Topic: "init"}, {Uptime: 2, Topic: "stop"}}
	for _, c := range []struct {
		name   string
		lines  []spec.Line
		reason string
		end    string
		want   string
	}{
		{"said so, and switched itself off", said, "guest-shutdown", "guest-shutdown", ""},
		{"said so, and restarted, as a board does", said, "guest-reset", "guest-reset", ""},
		{"nothing said", said[:1], "guest-shutdown", "guest-shutdown", "the console has no line of an ordered stop"},
		{"killed while stopping", said, "", "guest-shutdown", `QEMU ended by "", want guest-shutdown`},
		{"restarted", said, "guest-reset", "guest-shutdown", `QEMU ended by "guest-reset", want guest-shutdown`},
	} {
		if got := text(orderly(c.lines, c.reason, c.end)); got != c.want {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
		}
	}
}

func TestTheFirstFaultCounts(t *testing.T) {
	b := New("guest-shutdown")
	_, _, fault := b.Hear(s, "Kernel panic - not syncing: first")
	if fault == nil || !Is(b.Failed()) {
		t.Fatalf("got %v; want a fault", fault)
	}
	if _, _, again := b.Hear(2*s, "Kernel panic - not syncing: second"); again != nil {
		t.Errorf("the second fault is told too: %v", again)
	}
	if later := b.Finish("guest-reset", nil, ""); later != nil {
		t.Errorf("the end is told as a fault: %v", later)
	}
	if got := b.Facts(); got.Fault != fault || got.Reason != "guest-reset" {
		t.Errorf("got %+v; want the first fault and the reason of the end", got)
	}
	if before := Is(b.Ended()); before {
		t.Error("ended before End")
	}
	if b.End(); !Is(b.Ended()) {
		t.Error("not ended after End")
	}
}

func TestABootThatTheEmulatorSpoilsIsNoFault(t *testing.T) {
	b := New("guest-shutdown")
	spoilt := b.Spoilt("[    2.78] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI")
	_, _, panics := b.Hear(s, "[    2.80] Kernel panic - not syncing: Fatal exception in interrupt")
	if !spoilt || panics != nil {
		t.Fatalf("got %v and the fault %v; want it spoilt, and no fault", spoilt, panics)
	}
	b.Anew()
	if _, _, panics := b.Hear(2*s, "[    2.80] Kernel panic - not syncing: VFS"); panics == nil {
		t.Error("a panic after the reset is no fault; want one")
	}
	b = New("guest-shutdown")
	b.Hear(s, "grove 0.50 init: hello")
	if b.Spoilt("[    9.0] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI") {
		t.Error("a node that has begun to work is reset; want it left alone")
	}
}

func TestAnEndIsAFaultUnlessAskedFor(t *testing.T) {
	for _, c := range []struct {
		name   string
		asked  bool
		reason string
		exit   error
		want   string
	}{
		{"asked for", true, "guest-shutdown", nil, ""},
		{"asked for by force", true, "", errors.New("signal: killed"), ""},
		{"a restart", false, "guest-reset", nil, `the node restarted by itself; last on its console: "bye"`},
		{"switched off inside", false, "guest-shutdown", nil, `the node switched itself off; last on its console: "bye"`},
		{"QEMU killed by another", false, "", errors.New("signal: killed"), "QEMU ended: signal: killed: out of memory"},
		{"no reason", false, "", nil, `QEMU ended: it gave no reason; last on the console: "bye"`},
	} {
		b := New("guest-shutdown")
		b.Hear(s, "bye")
		if c.asked {
			b.Ask()
		}
		if got := text(b.Finish(c.reason, c.exit, "out of memory\n")); got != c.want {
			t.Errorf("%s: got %q; want %q", c.name, got, c.want)
		}
	}
}

func TestANodeListensOnceInitSpokeAndNothingIsWrong(t *testing.T) {
	b := New("guest-shutdown")
	before := b.Listens()
	b.Hear(s, "grove 0.50 init: hello")
	after := b.Listens()
	b.Hear(s, "Kernel panic - not syncing: x")
	if before || !after || b.Listens() {
		t.Errorf("got %v, %v, %v; want false, true, false", before, after, b.Listens())
	}
}

func TestTheAnswerIsTimedAndOnce(t *testing.T) {
	b := New("guest-shutdown")
	b.Start = time.Now().Add(-5 * s)
	if got := b.Answer("6.0.5"); got.Answer < 5*s || got.Answer > 15*s || !Is(b.Ready()) {
		t.Errorf("got %v; want about 5 s", got)
	}
	if err := b.Look(time.Now().Add(-time.Hour), Limits{Boot: s, Silence: s}); err == nil || !strings.HasPrefix(err.Error(), "nothing on the console") {
		t.Errorf("Look: got %v", err)
	}
}
