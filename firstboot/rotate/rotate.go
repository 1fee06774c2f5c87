// Package rotate keeps mongod's log short: it is put aside each day or hour, or when it is long, mongod is told to begin a new one, old ones are packed and the oldest removed.
//
// mongod is never restarted for it, and no line is lost: the log is renamed first and mongod, which writes on into it, opens a new one at SIGUSR1 (logRotate: reopen). Old
// logs are numbered, mongod.log.7 after mongod.log.6.gz: a number has no need of a clock that is right. The newest old one stays as it is, for lines that come late; the others
// are packed. The power may go between any two steps; the next turn goes on from the files that are there.
//
// What the server prints besides, mostly why it does not even start, is cut off when it is long.
package rotate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// Site is one node's log. Mongod gives the server that runs, false for none.
type Site struct {
	Machine host.Machine
	Log     string // its path, with the root before it
	Output  string // what the server prints besides
	Want    spec.Logs
	Mongod  func() (host.Running, bool)
	Node    Node
}

const (
	look       = time.Minute      // how often the log is looked at
	reopenMay  = 15 * time.Second // a mongod that is busy takes its time
	mostOutput = size.MiB
)

// Keep works until ctx ends.
func (s *Site) Keep(ctx context.Context) {
	for {
		err := s.turn(ctx)
		sentence := ""
		if err != nil && ctx.Err() == nil {
			sentence = err.Error()
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
	f, err := survey(s.Log)
	if err != nil {
		return fmt.Errorf("look at mongod's log: %w", err)
	}
	if !f.there && len(f.old) > 0 {
		if err := s.reopen(ctx); err != nil { // the power, or an agent, went after the renaming
			return err
		}
	} else if Due(s.Machine.Now(), f.began, f.size, s.Want) {
		if err := s.putAside(ctx, f); err != nil {
			return err
		}
	}
	if f, err = survey(s.Log); err != nil {
		return fmt.Errorf("look at mongod's log: %w", err)
	}
	err = errors.Join(s.prune(f), s.output())
	if !s.Want.Plain && f.there {
		err = errors.Join(err, f.pack(ctx))
	}
	s.Node.Page(func(p *status.Status) { p.Logs.Size, p.Logs.Old = int64(f.size), len(f.old) })
	return err
}

// putAside renames the log and has mongod begin a new one.
func (s *Site) putAside(ctx context.Context, f files) error {
	old := fmt.Sprintf("%s.%d", s.Log, f.newest()+1)
	if err := os.Rename(s.Log, old); err != nil {
		return fmt.Errorf("put mongod's log aside: %w", err)
	}
	if err := s.reopen(ctx); err != nil {
		return errors.Join(err, back(old, s.Log))
	}
	s.Node.Say("mongod's log is put aside, %s in %s; %d are kept", f.size.Short(), old, s.Want.Keep)
	return nil
}

// back gives a log its name again, unless there is a new one.
func back(old, log string) error {
	if _, err := os.Lstat(log); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(old, log)
}

// reopen tells mongod and waits for the new file. One that does not run makes it when it starts.
func (s *Site) reopen(ctx context.Context) error {
	p, runs := s.Mongod()
	if !runs {
		return nil
	}
	if err := s.Machine.ReopenLog(p); err != nil {
		return fmt.Errorf("tell mongod, pid %d, to begin a new log: %w", p.PID, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reopenMay, fmt.Errorf("not there within %s", reopenMay))
	defer cancel()
	for {
		if _, err := os.Stat(s.Log); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for mongod's new log: %w", context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// prune removes the oldest: those past the number to be kept, and more of them while the file system is nearly full.
func (s *Site) prune(f files) error {
	keep := max(s.Want.Keep, 1)
	if total, free, err := s.Machine.Space(f.dir); err == nil && free < total/10 {
		keep = min(keep, 1)
	}
	for len(f.old) > keep {
		if err := os.Remove(f.old[0].path); err != nil {
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
