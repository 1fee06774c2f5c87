package pid1

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keepShell has a root shell on the console for whoever types. The shell is started by the first line that comes, and reads that line: until then it costs
// nothing. Lines are edited and echoed by the kernel's terminal, so a script may type as a person does; gosh has to be built with the tag goshsmall for it,
// or it draws its own editor.
func (p *first) keepShell() {
	device := consoleTTY()
	say("init", "a root shell is on %s: press Enter", device)
	for p.down.Err() == nil {
		began := time.Now()
		if err := p.runShell(device); err != nil {
			say("init", "shell on %s: %v", device, err)
		}
		select { // not faster than one a second, should it not start at all
		case <-p.down.Done():
		case <-time.After(time.Second - min(time.Since(began), time.Second)):
		}
	}
}

func (p *first) runShell(device string) error {
	tty, err := unix.Open(device, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(tty)
	for { // poll(2) says so when a whole line is there
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(tty), Events: unix.POLLIN}}, -1)
		if err != nil && err != unix.EINTR {
			return err
		}
		if n > 0 {
			break
		}
	}
	f := uintptr(tty)
	_, ended, err := p.children.start("/bbin/gosh", []string{"gosh"}, []uintptr{f, f, f}, &syscall.SysProcAttr{Setsid: true, Setctty: true})
	if err != nil {
		return err
	}
	<-ended
	return nil
}
