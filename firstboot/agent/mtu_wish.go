package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"grove/firstboot/status"
	"grove/internal/host"
)

const networkUsage = `want network mtu N [--on LINK] [--for 2h], to set an MTU for a while, or network mtu back`

// wishMay is how long the agent may take: it looks once a second.
const wishMay = 5 * time.Second

// Network sets the MTU of an interface for a while, or puts it back. It gives the exit code.
func Network(args []string) int {
	wish, err := readWish(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	a := &Agent{Machine: host.Real{}, Console: io.Discard}
	line, err := a.wish(wish)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(line)
	return 0
}

// wish of a person. MTU 0 is back.
type wish struct {
	mtu  int
	link string // empty: that of the default route
	last time.Duration
}

func readWish(args []string) (w wish, err error) {
	w.last = 2 * time.Hour
	if len(args) < 2 || args[0] != "mtu" || len(args)%2 != 0 {
		return w, errors.New(networkUsage)
	}
	if args[1] == "back" && len(args) == 2 {
		return w, nil
	}
	if w.mtu, err = strconv.Atoi(args[1]); err != nil || w.mtu < 576 || w.mtu > 9216 {
		return w, fmt.Errorf("want an MTU from 576 to 9216, have %q", args[1])
	}
	for i := 2; i < len(args); i += 2 {
		switch args[i] {
		case "--on":
			w.link = args[i+1]
		case "--for":
			if w.last, err = time.ParseDuration(args[i+1]); err != nil || w.last < time.Second || w.last > 7*24*time.Hour {
				return w, fmt.Errorf("want a time such as 2h, at most a week, have %q", args[i+1])
			}
		default:
			return w, errors.New(networkUsage)
		}
	}
	return w, nil
}

// wish leaves it for the agent.
func (a *Agent) wish(w wish) (line string, err error) {
	before := readLent(a.Root)
	if w.mtu == 0 {
		if before == nil {
			return "", errors.New("no MTU was set for a while")
		}
		if err := os.Remove(a.Root + lentFile); err != nil {
			return "", err
		}
		return a.has(before.Link, before.Was, "")
	}
	if w.link == "" {
		routes, _ := os.ReadFile(a.Root + "/proc/net/route")
		if w.link = defaultLink(string(routes)); w.link == "" {
			return "", errors.New("there is no default route; name the interface by --on")
		}
	}
	lent := status.Lent{Link: w.link, MTU: w.mtu, Was: a.mtuOf(w.link), Until: a.uptime() + w.last.Seconds()}
	if lent.Was == 0 {
		return "", fmt.Errorf("there is no interface %s", w.link)
	}
	if before != nil && before.Link == w.link {
		lent.Was = before.Was
	}
	data, err := json.Marshal(lent)
	if err == nil {
		err = status.Replace(a.Root+lentFile, data)
	}
	if err != nil {
		return "", err
	}
	return a.has(w.link, w.mtu, fmt.Sprintf(" for %s, then %d again", w.last, lent.Was))
}

// has waits until the kernel has it.
func (a *Agent) has(link string, mtu int, while string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wishMay)
	defer cancel()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for a.mtuOf(link) != mtu {
		select {
		case <-look.C:
		case <-ctx.Done():
			return "", fmt.Errorf("the agent has not set an MTU of %d on %s within %s; see the problems in %s", mtu, link, wishMay, status.File)
		}
	}
	return fmt.Sprintf("%s has an MTU of %d%s", link, mtu, while), nil
}

// defaultLink is the interface of the default route with the least metric, as /proc/net/route has it: Iface Destination Gateway Flags RefCnt Use Metric Mask.
func defaultLink(table string) (link string) {
	least := -1
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 8 || f[1] != "00000000" || f[7] != "00000000" {
			continue
		}
		if metric, err := strconv.Atoi(f[6]); err == nil && (least < 0 || metric < least) {
			link, least = f[0], metric
		}
	}
	return link
}
