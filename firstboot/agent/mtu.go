package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"grove/firstboot/status"
)

// lentFile is a person's wish, by which the agent goes; it is in RAM, as a wish for a while does not outlive the node's uptime.
const lentFile = status.Dir + "/mtu.json"

// lending is an MTU for a while, such as that of a restore over the Internet on a node whose network takes larger packets.
type lending struct {
	mu  sync.Mutex
	now *status.Lent
}

// of is the MTU that a link has been lent, 0 for none.
func (l *lending) of(link string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil || l.now.Link != link {
		return 0
	}
	return l.now.MTU
}

// load takes over what an agent before this one has set.
func (l *lending) load(a *Agent) {
	wish := readLent(a.Root)
	l.mu.Lock()
	defer l.mu.Unlock()
	if wish != nil && wish.Until > a.uptime() && a.mtuOf(wish.Link) == wish.MTU {
		l.now = wish
		a.page.set(func(s *status.Status) { s.Network.Lent = wish })
	}
}

func readLent(root string) *status.Lent {
	var l status.Lent
	if data, err := os.ReadFile(root + lentFile); err != nil || json.Unmarshal(data, &l) != nil {
		return nil
	}
	return &l
}

// lend sees to the wish, once a second.
func (a *Agent) lend(ctx context.Context) {
	if _, known := a.settings(ctx); !known {
		return
	}
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		a.lendOrNot()
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

func (a *Agent) lendOrNot() {
	l := &a.lending
	l.mu.Lock()
	defer l.mu.Unlock()
	wish := readLent(a.Root)
	if wish != nil && wish.Until <= a.uptime() {
		wish = nil
		_ = os.Remove(a.Root + lentFile) // else it is read again, in vain
	}
	turns := lent(l.now, wish)
	for _, t := range turns {
		err := a.Links.SetMTU(t.link, t.mtu)
		a.problemIf("mtu", err)
		if err == nil {
			a.say("network", "%s has an MTU of %d%s", t.link, t.mtu, t.while)
		}
		a.showMTU(t.link)
	}
	if len(turns) > 0 {
		l.now = wish
		a.page.set(func(s *status.Status) { s.Network.Lent = wish })
	}
}

// turn is an MTU to be set.
type turn struct {
	link  string
	mtu   int
	while string
}

// lent decides what to set for a wish, after what was set for the one before.
func lent(before, wish *status.Lent) (turns []turn) {
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

func (a *Agent) showMTU(link string) {
	a.page.set(func(s *status.Status) {
		links := slices.Clone(s.Network.Links)
		for i := range links {
			if links[i].Name == link {
				links[i].MTU = a.mtuOf(link)
			}
		}
		s.Network.Links = links
	})
}
