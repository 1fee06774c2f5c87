package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Monitor is QEMU's control socket (QMP, the QEMU Machine Protocol): one JSON object a line, a reply for each command, events between them.
type Monitor struct {
	conn    net.Conn
	turn    sync.Mutex // held from a command to its reply
	last    int        // id of the last command
	replies chan message
	ended   chan struct{}

	mu     sync.Mutex
	reason string
	leaves map[string]chan struct{} // closed when the device with this id is gone
}

type message struct {
	ID    int             `json:"id"`
	Done  json.RawMessage `json:"return"`
	Error *struct {
		Desc string `json:"desc"`
	} `json:"error"`
	Event string `json:"event"`
	Data  struct {
		Reason string `json:"reason"`
		Device string `json:"device"`
	} `json:"data"`
}

// newMonitor takes over a connection that QEMU made, and ends with it.
func newMonitor(conn net.Conn) *Monitor {
	m := &Monitor{conn: conn, replies: make(chan message, 1), ended: make(chan struct{}), leaves: map[string]chan struct{}{}}
	go m.read()
	return m
}

// Open waits until QEMU's main loop runs. Until it is told this, QEMU refuses all else.
func (m *Monitor) Open(ctx context.Context) error { return m.ask(ctx, "qmp_capabilities", nil) }

func (m *Monitor) read() {
	defer close(m.ended)
	defer m.conn.Close()
	lines := json.NewDecoder(m.conn)
	for {
		var got message
		if lines.Decode(&got) != nil {
			return
		}
		m.event(got)
		if got.Done == nil && got.Error == nil {
			continue // an event, or the greeting
		}
		select {
		case m.replies <- got:
		case <-m.replies: // nobody waits for that one any more
			m.replies <- got
		}
	}
}

func (m *Monitor) event(got message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch got.Event {
	case "SHUTDOWN":
		m.reason = got.Data.Reason
	case "DEVICE_DELETED":
		if gone := m.leaves[got.Data.Device]; gone != nil {
			close(gone)
			delete(m.leaves, got.Data.Device)
		}
	}
}

// deletion is closed when the guest has let go of a device.
func (m *Monitor) deletion(id string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leaves[id] == nil {
		m.leaves[id] = make(chan struct{})
	}
	return m.leaves[id]
}

// ask sends a command and waits for its reply, a minute at most: QEMU may be starting on a crowded machine.
func (m *Monitor) ask(ctx context.Context, command string, arguments map[string]any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("no reply within 60 s"))
	defer cancel()
	m.turn.Lock()
	defer m.turn.Unlock()
	m.last++
	execute := map[string]any{"execute": command, "id": m.last}
	if arguments != nil {
		execute["arguments"] = arguments
	}
	line, err := json.Marshal(execute)
	if err != nil {
		return fmt.Errorf("BUG: monitor command %s: %w", command, err)
	}
	if _, err := m.conn.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("send %s to QEMU's monitor: %w", command, err)
	}
	for {
		got, err := m.reply(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("%s in QEMU's monitor: %w", command, err)
		case got.ID != m.last:
			continue
		case got.Error != nil:
			return fmt.Errorf("%s in QEMU's monitor: %s", command, got.Error.Desc)
		}
		return nil
	}
}

// reply is the next one. One that came before QEMU's end counts.
func (m *Monitor) reply(ctx context.Context) (message, error) {
	select {
	case got := <-m.replies:
		return got, nil
	case <-ctx.Done():
		return message{}, context.Cause(ctx)
	case <-m.ended:
	}
	select {
	case got := <-m.replies:
		return got, nil
	default:
		return message{}, errors.New("QEMU has ended")
	}
}

// PowerButton presses the ACPI power button.
func (m *Monitor) PowerButton(ctx context.Context) error {
	return m.ask(ctx, "system_powerdown", nil)
}

// Reset presses the reset button. A QEMU that was started with -no-reboot would end by it, as by the guest's own restart, so that is off from then on until NoReboot: after a
// reset SeaBIOS asks for another one, which reaches all devices.
func (m *Monitor) Reset(ctx context.Context) error {
	if err := m.ask(ctx, "set-action", map[string]any{"reboot": "reset"}); err != nil {
		return err
	}
	return m.ask(ctx, "system_reset", nil)
}

// NoReboot lets QEMU end when the guest restarts by itself.
func (m *Monitor) NoReboot(ctx context.Context) error {
	return m.ask(ctx, "set-action", map[string]any{"reboot": "shutdown"})
}

// Reason is why QEMU ended, in its own words: guest-shutdown, guest-reset, guest-panic, host-signal, or "" when it never said. It waits for the connection's
// end and is asked after QEMU's.
func (m *Monitor) Reason() string {
	<-m.ended
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reason
}
