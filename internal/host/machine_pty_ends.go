package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// outlet is the near end of what a program prints. While the program runs it waits for more; afterwards for a moment only, as something that it has left running may hold the
// far end open for ever.
type outlet struct {
	file  *os.File // nil: nothing comes
	ended atomic.Bool
}

// moment is how long nothing more came.
const moment = 200 * time.Millisecond

func (o *outlet) Read(p []byte) (int, error) {
	if o.file == nil {
		return 0, io.EOF
	}
	for woken := false; ; woken = true {
		if o.ended.Load() {
			_ = o.file.SetReadDeadline(time.Now().Add(moment))
		}
		n, err := o.file.Read(p)
		switch {
		case n > 0:
			return n, nil
		case errors.Is(err, os.ErrDeadlineExceeded) && !woken: // the program has just ended
		case err != nil: // the end; of a terminal that nobody has open any more it is EIO
			return 0, io.EOF
		}
	}
}

// drain tells it that the program has ended.
func (o *outlet) drain() {
	o.ended.Store(true)
	if o.file != nil {
		_ = o.file.SetReadDeadline(time.Now())
	}
}

// keyboard is the near end of a terminal as somebody types on it.
type keyboard struct{ terminal *os.File }

func (k keyboard) Write(p []byte) (int, error) { return k.terminal.Write(p) }

// Close types Ctrl-D: once for a line that is begun, and once more for the end of file.
func (k keyboard) Close() error {
	_, err := k.terminal.Write([]byte{4, 4})
	return err
}

// Marked see Talks.
func (Real) Marked(entry string) (found []Running) {
	files, _ := filepath.Glob("/proc/[1-9]*/environ")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(append([]byte{0}, data...), []byte("\x00"+entry+"\x00")) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if start, err := started(pid); err == nil {
			found = append(found, Running{pid, start})
		}
	}
	return found
}

// HangUp see Talks.
func (Real) HangUp(p Running) error {
	if err := send(p, unix.SIGHUP); err != nil {
		return fmt.Errorf("hang up: %w", err)
	}
	return nil
}
