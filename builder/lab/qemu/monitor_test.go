package qemu

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// fake answers as QEMU 7.2 does: answer gives the lines for a command and its id, and whether QEMU ends behind them.
func fake(t *testing.T, answer func(command string, id int) (text string, end bool)) net.Conn {
	t.Helper()
	qemu, ours := net.Pipe()
	t.Cleanup(func() { qemu.Close() })
	go func() {
		fmt.Fprintln(qemu, `{"QMP": {"version": {"qemu": {"micro": 22, "minor": 2, "major": 7}, "package": ""}, "capabilities": ["oob"]}}`)
		for lines := bufio.NewScanner(qemu); lines.Scan(); {
			var got struct {
				Execute string
				ID      int
			}
			if json.Unmarshal(lines.Bytes(), &got) != nil {
				break
			}
			text, end := answer(got.Execute, got.ID)
			fmt.Fprint(qemu, text)
			if end {
				break
			}
		}
		qemu.Close()
	}()
	return ours
}

func opened(t *testing.T, qemu net.Conn) *Monitor {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	m := newMonitor(qemu)
	if err := m.Open(ctx); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMonitorTellsRepliesFromEvents(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	m := opened(t, fake(t, func(command string, id int) (string, bool) {
		done := fmt.Sprintf("{\"return\": {}, \"id\": %d}\n", id)
		if command == "system_powerdown" {
			return `{"event": "POWERDOWN", "timestamp": {}}` + "\n" + done + `{"event": "SHUTDOWN", "data": {"guest": true, "reason": "guest-shutdown"}}` + "\n", true
		}
		return done, false
	}))
	if err := m.PowerButton(ctx); err != nil {
		t.Error(err)
	}
	if got := m.Reason(); got != "guest-shutdown" {
		t.Errorf("reason: got %q; want guest-shutdown", got)
	}
}

func TestMonitorErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply string
		limit time.Duration
		want  string
	}{
		{"QEMU refuses", `{"id": %d, "error": {"class": "GenericError", "desc": "no ACPI here"}}` + "\n", 10 * time.Second, "system_powerdown in QEMU's monitor: no ACPI here"},
		{"QEMU ends", "", 10 * time.Second, "system_powerdown in QEMU's monitor: QEMU has ended"},
		{"QEMU is silent", "\n", 50 * time.Millisecond, "system_powerdown in QEMU's monitor: context deadline exceeded"},
		{"the reply is of another command", `{"return": {}, "id": 1%d}` + "\n", 50 * time.Millisecond, "system_powerdown in QEMU's monitor: context deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := opened(t, fake(t, func(command string, id int) (string, bool) {
				if command == "qmp_capabilities" {
					return fmt.Sprintf("{\"return\": {}, \"id\": %d}\n", id), false
				}
				if strings.Contains(c.reply, "%d") {
					return fmt.Sprintf(c.reply, id), false
				}
				return c.reply, c.reply == ""
			}))
			ctx, cancel := context.WithTimeout(context.Background(), c.limit)
			defer cancel()
			if err := m.PowerButton(ctx); err == nil || err.Error() != c.want {
				t.Errorf("got %v; want %s", err, c.want)
			}
		})
	}
}

func TestAPulledDiskIsGoneWhenTheGuestHasLetGo(t *testing.T) {
	var asked []string
	m := opened(t, fake(t, func(command string, id int) (string, bool) {
		asked = append(asked, command)
		done := fmt.Sprintf("{\"return\": {}, \"id\": %d}\n", id)
		if command == "device_del" { // QEMU names the device's inner part first, without its id
			done += `{"event": "DEVICE_DELETED", "data": {"path": "/machine/peripheral/d1/virtio-backend"}}` + "\n" +
				`{"event": "DEVICE_DELETED", "data": {"device": "d1", "path": "/machine/peripheral/d1"}}` + "\n"
		}
		return done, false
	}))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := m.Unplug(ctx, "d1"); err != nil {
		t.Error(err)
	}
	if got, want := strings.Join(asked, " "), "qmp_capabilities device_del blockdev-del"; got != want {
		t.Errorf("asked %s; want %s", got, want)
	}
}

func TestAGuestThatKeepsADiskIsNamed(t *testing.T) {
	m := opened(t, fake(t, func(_ string, id int) (string, bool) {
		return fmt.Sprintf("{\"return\": {}, \"id\": %d}\n", id), false
	}))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := m.Unplug(ctx, "d1"); err == nil || !strings.Contains(err.Error(), "unplug d1: the guest does not let go of it") {
		t.Errorf("got %v; want the guest named", err)
	}
}
