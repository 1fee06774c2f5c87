// Package lend gives an interface another MTU for a while, and puts it back: that of a restore over the Internet, on a node whose network takes larger packets.
//
// A person leaves a wish, a file in RAM; the agent goes by it, also one that starts anew. A wish does not outlive the node's uptime.
package lend

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"grove/firstboot/status"
)

// file is the wish.
const file = status.Dir + "/mtu.json"

// Node is the agent around it.
type Node interface {
	Say(format string, values ...any)
	Page(change func(*status.Status))
	Problem(about, sentence string) (news bool)
}

// Lending is what is lent now. Root stands before every path, empty but in tests.
type Lending struct {
	Root   string
	Uptime func() float64 // seconds
	SetMTU func(link string, mtu int) error
	Node   Node

	mu  sync.Mutex
	now *status.Lent
}

// Of is the MTU that a link has been lent, 0 for none.
func (l *Lending) Of(link string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil || l.now.Link != link {
		return 0
	}
	return l.now.MTU
}

// Open takes over what an agent before this one has set, before the network is seen to.
func (l *Lending) Open() {
	wish := read(l.Root)
	if wish == nil || wish.Until <= l.Uptime() || MTU(l.Root, wish.Link) != wish.MTU {
		return
	}
	l.now = wish
	l.Node.Page(func(s *status.Status) { s.Network.Lent = wish })
}

func read(root string) *status.Lent {
	var l status.Lent
	if data, err := os.ReadFile(root + file); err != nil || json.Unmarshal(data, &l) != nil {
		return nil
	}
	return &l
}

// Run sees to the wish, once a second, until ctx ends.
func (l *Lending) Run(ctx context.Context) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			l.look()
		case <-ctx.Done():
			return
		}
	}
}

func (l *Lending) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	wish := read(l.Root)
	if wish != nil && wish.Until <= l.Uptime() {
		wish = nil
		_ = os.Remove(l.Root + file) // else it is read again, in vain
	}
	turns := decide(l.now, wish)
	for _, t := range turns {
		l.set(t)
	}
	if len(turns) > 0 {
		l.now = wish
		l.Node.Page(func(s *status.Status) { s.Network.Lent = wish })
	}
}

// turn is an MTU to be set.
type turn struct {
	link  string
	mtu   int
	while string
}

// decide says what to set for a wish, after what was set for the one before.
func decide(before, wish *status.Lent) (turns []turn) {
	switch {
	case before != nil && wish != nil && *before == *wish:
		return nil
	case before != nil && (wish == nil || wish.Link != before.Link):
		turns = append(turns, turn{before.Link, before.Was, " again"})
	}
	if wish != nil {
		turns = append(turns, turn{wish.Link, wish.MTU, fmt.Sprintf(" until %.0f s after the start, then %d again", wish.Until, wish.Was)})
	}
	return turns
}

func (l *Lending) set(t turn) {
	if err := l.SetMTU(t.link, t.mtu); err != nil {
		if l.Node.Problem("mtu", err.Error()) {
			l.Node.Say("%v", err)
		}
		return
	}
	l.Node.Problem("mtu", "")
	l.Node.Say("%s has an MTU of %d%s", t.link, t.mtu, t.while)
	l.Node.Page(func(s *status.Status) {
		links := slices.Clone(s.Network.Links)
		for i := range links {
			if links[i].Name == t.link {
				links[i].MTU = MTU(l.Root, t.link)
			}
		}
		s.Network.Links = links
	})
}

// MTU is that of an interface as the kernel has it, 0 if it can't be read. root stands before the path.
func MTU(root, link string) int {
	data, _ := os.ReadFile(root + "/sys/class/net/" + link + "/mtu")
	n, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return n
}
