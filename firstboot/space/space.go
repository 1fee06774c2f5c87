// Package space says that a file system is nearly full before it is, and that it is when it is: a mongod that can't write its data or its log ends, and is started again for
// nothing. It frees nothing; old logs are package rotate's.
package space

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"grove/firstboot/status"
	"grove/internal/host"
	"grove/internal/mongoconf"
	"grove/internal/size"
)

// Node is the agent around it.
type Node interface {
	Say(format string, values ...any)
	Page(change func(*status.Status))
	Problem(about, sentence string) (news bool)
}

// Site is one node's file systems.
type Site struct {
	Machine host.Machine
	Root    string
	Mounts  []Mount
	Node    Node

	states map[string]State
	shown  []status.Room
}

// Mount is a file system and what lies on it.
type Mount struct {
	Path  string
	Holds string // mongod's log
	Ends  bool   // mongod, when it is full
}

const look = 10 * time.Second

// Keep works until ctx ends.
func (s *Site) Keep(ctx context.Context) {
	s.states = map[string]State{}
	for {
		s.turn()
		select {
		case <-ctx.Done():
			return
		case <-time.After(look):
		}
	}
}

// turn looks once. The console hears of it when the state changes, the page has the figures of now.
func (s *Site) turn() {
	var rooms []status.Room
	for _, m := range s.Mounts {
		total, free, err := s.Machine.Space(s.Root + m.Path)
		about := "space " + m.Path
		if err != nil {
			if s.Node.Problem(about, err.Error()) {
				s.Node.Say("%v", err)
			}
			continue
		}
		was := s.states[m.Path]
		now := Judge(was, total, free)
		s.states[m.Path] = now
		s.Node.Problem(about, sentence(m, now, total, free))
		switch {
		case now == was:
		case now == Roomy:
			s.Node.Say("%s has room again: %s of %s free", m.Path, free.Short(), total.Short())
		default:
			s.Node.Say("%s %s", m.Path, sentence(m, now, total, free))
		}
		rooms = append(rooms, status.Room{Mount: m.Path, Size: int64(total), Free: int64(free), State: string(now)})
	}
	if slices.Equal(rooms, s.shown) {
		return
	}
	s.shown = rooms
	s.Node.Page(func(p *status.Status) {
		p.Space = rooms
		for _, r := range rooms {
			if r.Mount == "/state" {
				p.State.Size, p.State.Free = r.Size, r.Free
			}
		}
	})
}

// Blame adds to mongod's last words what file systems of its own are full: of its log's, it may have had no place to say so.
func (s *Site) Blame(words string) string {
	var all []string
	for _, m := range s.Mounts {
		if total, free, err := s.Machine.Space(s.Root + m.Path); err == nil && m.Ends && Judge(Roomy, total, free) == Full {
			all = append(all, fmt.Sprintf("%s is full", m.Path))
		}
	}
	if words != "" {
		all = append([]string{words}, all...)
	}
	return strings.Join(all, "; ")
}

// Mounts are those of a node that matter to it, the state partition's if it is there.
func Mounts(at mongoconf.Places, state bool) (all []Mount) {
	if state {
		holds := []string{"what the agent keeps"}
		for _, of := range []struct{ path, name string }{{at.Data, "mongod's data"}, {at.Log, "mongod's log"}} {
			if strings.HasPrefix(of.path, "/state/") {
				holds = append(holds, of.name)
			}
		}
		all = append(all, Mount{"/state", strings.Join(holds, " and "), len(holds) > 1})
	}
	for _, path := range at.Mounted {
		all = append(all, Mount{path, "mongod's " + strings.TrimPrefix(path, "/"), true})
	}
	return all
}

// sentence is what is said of a file system, "" of one with room.
func sentence(m Mount, is State, total, free size.Size) string {
	if is == Roomy {
		return ""
	}
	text := fmt.Sprintf("is %s, %s of %s free; it holds %s", is, free.Short(), total.Short(), m.Holds)
	if m.Ends {
		text += ", and mongod ends when it can't write there"
	}
	return text
}
