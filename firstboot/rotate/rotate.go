// Package rotate keeps mongod's log short: it is put aside each day or hour, or when it is long, mongod is told to begin a new one, old ones are packed and the oldest removed.
//
// mongod is never restarted for it, and no line is lost: the log is renamed first and mongod, which writes on into it, opens a new one at SIGUSR1 (logRotate: reopen). Old
// logs are numbered, mongod.log.7 after mongod.log.6.gz: a number has no need of a clock that is right. The newest old one stays as it is, for lines that come late; the others
// are packed. The power may go between any two steps; the next turn goes on from the files that are there.
//
// A mongod that can't write its new log ends ("Writing to log file failed, aborting application", seen with 6.0.5). So it is told only while there is room for one, and old logs
// go first where there is little.
//
// What the server prints besides, mostly why it does not even start, is cut off when it is long.
package rotate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"grove/firstboot/status"
	"grove/internal/host"
	"grove/internal/size"
	"grove/internal/spec"
)

// Node is the agent around it.
type Node interface {
	Say(format string, values ...any)
	Page(change func(*status.Status))
	Problem(about, sentence string) (news bool)
}

// Site is one node's log. Mongod gives the server that runs, and whether it answers by now: SIGUSR1 would end one that is only beginning to start.
type Site struct {
	Machine host.Machine
	Log     string // its path, with the root before it
	Output  string // what the server prints besides
	Want    spec.Logs
	Mongod  func() (p host.Running, runs, answers bool)
	Node    Node

	disk disk // the node's own, but in tests
}

const (
	look       = time.Minute      // how often the log is looked at
	reopenMay  = 20 * time.Second // a mongod that is busy takes its time
	tellAgain  = 6 * time.Second  // mongod passes over a signal that comes within 5 s of the one before (seen with 6.0.5)
	mostOutput = size.MiB
	leastRoom  = size.MiB // for a new log
)

// Keep works until ctx ends.
func (s *Site) Keep(ctx context.Context) {
	for {
		err := s.turn(ctx)
		sentence := ""
		if err != nil && ctx.Err() == nil {
			sentence = strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		if s.Node.Problem("log", sentence) && sentence != "" {
			s.Node.Say("%s; it is tried again", sentence)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(look):
		}
	}
}

// turn looks once, and does what is due.
func (s *Site) turn(ctx context.Context) error {
	f, err := s.survey()
	_, runs, answers := s.Mongod()
	switch {
	case err != nil:
		return err
	case runs && !answers: // it can wait
	case !f.there && len(f.old) > 0:
		err = s.reopen(ctx, &f) // the power, or an agent, went after the renaming, or mongod did not listen
	case Due(s.Machine.Now(), f.began, f.size, s.Want):
		err = s.putAside(ctx, &f)
	}
	return errors.Join(err, s.tidy(ctx), s.output())
}

// tidy removes and packs old logs, whether there is a new one or not.
func (s *Site) tidy(ctx context.Context) error {
	f, err := s.survey()
	if err != nil {
		return err
	}
	if err = s.prune(&f); !s.Want.Plain {
		err = errors.Join(err, s.pack(ctx, f))
	}
	s.Node.Page(func(p *status.Status) { p.Logs.Size, p.Logs.Old = int64(f.size), len(f.old) })
	return err
}

// putAside renames the log and has mongod begin a new one. A mongod that does not listen writes on into the renamed one, and is told again at the next turn.
func (s *Site) putAside(ctx context.Context, f *files) error {
	if err := s.room(f); err != nil {
		return err
	}
	old := fmt.Sprintf("%s.%d", s.Log, f.newest()+1)
	if err := s.hands().Rename(s.Log, old); err != nil {
		return fmt.Errorf("put mongod's log aside: %w", err)
	}
	if err := s.reopen(ctx, f); err != nil {
		return err
	}
	s.Node.Say("mongod's log is put aside, %s in %s; %d are kept", f.size.Short(), old, s.Want.Keep)
	return nil
}

// room is for a new log; a mongod without it would end.
func (s *Site) room(f *files) error {
	if err := s.prune(f); err != nil {
		return err
	}
	_, free, err := s.Machine.Space(f.dir)
	if err == nil && free < leastRoom {
		return fmt.Errorf("begin a new log: %s has less than %s free, and mongod ends when it can't write its log; it writes on into the old one", f.dir, leastRoom.Short())
	}
	return err
}

// reopen tells mongod and waits for the new file. One that does not run makes it when it starts.
func (s *Site) reopen(ctx context.Context, f *files) error {
	p, runs, answers := s.Mongod()
	if !runs || !answers {
		return nil
	}
	if err := s.room(f); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reopenMay, fmt.Errorf("not there within %s", reopenMay))
	defer cancel()
	for {
		if err := s.Machine.ReopenLog(p); err != nil {
			return fmt.Errorf("tell mongod, pid %d, to begin a new log: %w", p.PID, err)
		}
		if s.appears(ctx) {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for mongod's new log: %w", context.Cause(ctx))
		}
	}
}

// appears waits for the new log until mongod may be told again, or ctx ends.
func (s *Site) appears(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, tellAgain)
	defer cancel()
	for {
		if _, err := os.Stat(s.Log); err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// prune removes the oldest: those past the number to be kept, and all but the newest while the file system is nearly full.
func (s *Site) prune(f *files) error {
	keep := max(s.Want.Keep, 1)
	if total, free, err := s.Machine.Space(f.dir); err == nil && free < total/10 && len(f.old) > 1 {
		keep = 1
		s.Node.Say("%s has %s of %s free: old logs are removed, but for the newest", f.dir, free.Short(), total.Short())
	}
	for len(f.old) > keep {
		if err := s.hands().Remove(f.old[0].path); err != nil {
			return fmt.Errorf("remove an old log: %w", err)
		}
		f.old = f.old[1:]
	}
	return nil
}

// output is cut when it is long: it repeats itself with each start that fails.
func (s *Site) output() error {
	info, err := os.Stat(s.Output)
	if err != nil || info.Size() <= int64(mostOutput) {
		return nil // there may be none
	}
	return os.Truncate(s.Output, 0)
}
