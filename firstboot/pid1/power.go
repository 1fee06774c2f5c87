package pid1

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// order is what a person or the machine wants of the node: power off or restart. Who is for the console.
type order struct{ what, who string }

// listen takes in orders by signal: those of busybox's init, Ctrl-Alt-Del (SIGINT) and a failing power supply.
func listen() chan order {
	signals, orders := make(chan os.Signal, 4), make(chan order, 4)
	meaning := map[os.Signal]order{
		unix.SIGUSR1: {"power off", "asked by a signal"},
		unix.SIGUSR2: {"power off", "asked by a signal"},
		unix.SIGTERM: {"restart", "asked by a signal"},
		unix.SIGINT:  {"restart", "Ctrl-Alt-Del was pressed"},
		unix.SIGPWR:  {"power off", "the power fails"},
	}
	for s := range meaning {
		signal.Notify(signals, s)
	}
	go func() {
		for s := range signals {
			offer(orders, meaning[s])
		}
	}()
	return orders
}

// offer never waits: orders after the first few say nothing new.
func offer(orders chan<- order, o order) {
	select {
	case orders <- o:
	default:
	}
}

// Ask is what the commands poweroff, halt, reboot and shutdown do: they ask PID 1, which stops mongod first. It gives the exit code.
func Ask(name string, args []string) int {
	restart := name == "reboot" || name == "shutdown" && len(args) > 0 && args[0] == "-r"
	s := unix.SIGUSR2
	if restart {
		s = unix.SIGTERM
	}
	if err := unix.Kill(1, s); err != nil {
		fmt.Fprintf(os.Stderr, "ask PID 1: %v\n", err)
		return 1
	}
	return 0
}

// button waits for the power key of one input device. EC2's stop and QEMU's system_powerdown press it.
func button(device string, orders chan<- order) {
	f, err := os.Open(device)
	if err != nil {
		say("init", "watch the power button: %v", err)
		return
	}
	defer f.Close()
	event := make([]byte, eventSize)
	for {
		if _, err := f.Read(event); err != nil {
			return // the device is gone
		}
		if pressed(event) {
			offer(orders, order{"power off", "the power button was pressed"})
		}
	}
}

const (
	evKey    = 1   // linux/input-event-codes.h
	keyPower = 116 // the same
	wordSize = 32 << (^uint(0) >> 63)
	// eventSize is of struct input_event: two longs of time, type, code and value.
	eventSize = 2*wordSize/8 + 8
)

func pressed(event []byte) bool {
	e := event[eventSize-8:]
	kind, code, value := uint16(e[0])|uint16(e[1])<<8, uint16(e[2])|uint16(e[3])<<8, e[4]
	return kind == evKey && code == keyPower && value == 1
}

// hasPowerKey reads /sys/class/input/eventN/device/capabilities/key: words of a long in hexadecimal, the highest first.
func hasPowerKey(event string) bool {
	words := lines(filepath.Join("/sys/class/input", event, "device/capabilities/key"))
	return hasBit(words, keyPower)
}

func hasBit(words []string, bit int) bool {
	at := len(words) - 1 - bit/wordSize
	if at < 0 {
		return false
	}
	var word uint64
	if _, err := fmt.Sscanf(strings.TrimSpace(words[at]), "%x", &word); err != nil {
		return false
	}
	return word>>(bit%wordSize)&1 == 1
}
