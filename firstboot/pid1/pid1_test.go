package pid1

import (
	"encoding/binary"
	"maps"
	"syscall"
	"testing"
	"time"
)

func TestAgentStartsAgainAtOnceThenWithinTwoSeconds(t *testing.T) {
	for soon, want := range map[int]time.Duration{0: 0, 1: time.Second, 2: time.Second, 1000: time.Second} {
		if got := pause(soon); got != want {
			t.Errorf("after %d that ended soon: got %s; want %s", soon, got, want)
		}
	}
}

func TestUeventIsRead(t *testing.T) {
	got := parseUevent([]byte("add@/devices/x\x00ACTION=add\x00SUBSYSTEM=virtio\x00MODALIAS=virtio:d00000002v00001AF4\x00EMPTY=\x00"))
	want := map[string]string{"ACTION": "add", "SUBSYSTEM": "virtio", "MODALIAS": "virtio:d00000002v00001AF4", "EMPTY": ""}
	if !maps.Equal(got, want) {
		t.Errorf("got %v; want %v", got, want)
	}
}

func TestPowerKey(t *testing.T) {
	for _, c := range []struct {
		name  string
		words []string // as a 64-bit kernel writes them
		want  bool
	}{
		{"power button", []string{"10000000000000", "0"}, true},
		{"QEMU's keyboard, which has the key", []string{"402000002", "3803078f800d001", "feffffdfffefffff", "fffffffffffffffe"}, true},
		{"keyboard without it", []string{"402000002", "3803078f800d001", "feefffdfffefffff", "fffffffffffffffe"}, false},
		{"mouse", []string{"70000", "0", "0", "0", "0"}, false},
		{"nothing", nil, false},
		{"not a number", []string{"x", "0"}, false},
	} {
		if got := hasBit(c.words, keyPower); wordSize == 64 && got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
	event := func(kind, code uint16, value uint32) []byte {
		b := make([]byte, eventSize)
		end := b[eventSize-8:]
		binary.LittleEndian.PutUint16(end, kind)
		binary.LittleEndian.PutUint16(end[2:], code)
		binary.LittleEndian.PutUint32(end[4:], value)
		return b
	}
	if !pressed(event(1, 116, 1)) || pressed(event(1, 116, 0)) || pressed(event(1, 30, 1)) || pressed(event(0, 116, 1)) {
		t.Error("want only the pressing of the power key")
	}
}

func TestChildrenTellHowTheyEnded(t *testing.T) {
	c := reap()
	for range 20 { // also those that end before start returns
		_, how, err := c.start("/bin/sh", []string{"sh", "-c", "exit 3"}, []uintptr{0, 1, 2}, &syscall.SysProcAttr{})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-how:
			if got != "exit code 3" {
				t.Fatalf("got %q", got)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("not reaped within 20 s")
		}
	}
	select {
	case <-c.none:
	case <-time.After(20 * time.Second):
		t.Error("none is left, and nobody says so")
	}
}
